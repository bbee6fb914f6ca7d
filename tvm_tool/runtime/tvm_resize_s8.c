/* SPDX-License-Identifier: Apache-2.0
 *
 * Bilinear resizing with places in units of 1/1024 of a pixel, as TensorFlow Lite does.
 */
#include "tvm_blocks_s8.h"

/* The two pixels around a place of an axis, and the weight of the upper one. */
struct neighbours_s8 {
    int32_t lower, upper, weight;
};

static struct neighbours_s8 neighbours_of(const struct tvm_resize_axis_s8 *axis, int32_t place)
{
    struct neighbours_s8 pixels;
    const int32_t where = place * axis->step + axis->start;

    pixels.lower = tvm_limit_s8(where / 1024, 0, axis->input - 1);
    pixels.upper = tvm_limit_s8((where + 1023) / 1024, 0, axis->input - 1);
    pixels.weight = where - 1024 * pixels.lower;
    return pixels;
}

void tvm_resize_bilinear_s8(const struct tvm_resize_s8 *resize, const void *TVM_RESTRICT input,
                            void *TVM_RESTRICT output)
{
    const int32_t channels = resize->channels;
    const int32_t line = resize->width.input * channels;
    const uint8_t *image = input;
    uint8_t *to = output;

    for (int32_t batch = 0; batch < resize->batch; batch++) {
        for (int32_t y = 0; y < resize->height.output; y++) {
            const struct neighbours_s8 rows = neighbours_of(&resize->height, y);
            for (int32_t x = 0; x < resize->width.output; x++) {
                const struct neighbours_s8 columns = neighbours_of(&resize->width, x);
                const uint8_t *upper_left = image + (rows.lower * line + columns.lower * channels);
                const uint8_t *lower_left = image + (rows.upper * line + columns.lower * channels);
                const int32_t right = (columns.upper - columns.lower) * channels;
                for (int32_t channel = 0; channel < channels; channel++) {
                    const int32_t a = (upper_left[channel] ^ resize->flip) - resize->flip;
                    const int32_t b = (upper_left[channel + right] ^ resize->flip) - resize->flip;
                    const int32_t c = (lower_left[channel] ^ resize->flip) - resize->flip;
                    const int32_t d = (lower_left[channel + right] ^ resize->flip) - resize->flip;
                    const int32_t top = a * (1024 - columns.weight) + b * columns.weight;
                    const int32_t bottom = c * (1024 - columns.weight) + d * columns.weight;
                    const int32_t sum = top * (1024 - rows.weight) + bottom * rows.weight;
                    *to++ = (uint8_t)((sum + (sum > 0 ? 1 << 19 : -(1 << 19))) / (1 << 20));
                }
            }
        }
        image += resize->height.input * line;
    }
}
