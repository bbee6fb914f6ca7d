/* SPDX-License-Identifier: Apache-2.0
 *
 * Any function of one number, as a table by byte, four at a time.
 */
#include "tvm_kernels_dsp.h"
#include "tvm_simd_dsp.h"

void tvm_table_s8_dsp(int32_t elements, const void *table, const void *input, void *output)
{
    const uint8_t *values = table;
    const uint8_t *from = input;
    uint8_t *to = output;

    for (; elements >= 4; elements -= 4) {
        TVM_UNROLL
        for (int32_t i = 0; i < 4; i++) {
            to[i] = values[from[i]];
        }
        from += 4;
        to += 4;
    }
    for (; elements > 0; elements--) {
        *to++ = values[*from++];
    }
}
