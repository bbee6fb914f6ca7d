#include <stdio.h>

#include "audio.h"
#include "vision.h"

int main(void)
{
    const float image[4] = {1, 2, 3, 4};
    float eye[4], ear[4];
    const struct tvmgen_vision_inputs vision_in = {image};
    const struct tvmgen_vision_outputs vision_out = {eye};
    const struct tvmgen_audio_inputs audio_in = {image};
    const struct tvmgen_audio_outputs audio_out = {ear};

    if (tvmgen_vision_run(&vision_in, &vision_out) != TVM_OK || tvmgen_audio_run(&audio_in, &audio_out) != TVM_OK) {
        return 1;
    }
    printf("%g %g\n", eye[0], ear[0]);
    return 0;
}
