/* SPDX-License-Identifier: Apache-2.0 */
/* The images that are compiled into the firmware; images.py writes them. */
#ifndef IMAGES_H
#define IMAGES_H

#include <stdint.h>

#ifndef TEST_IMAGES
#define TEST_IMAGES 100
#endif

/* 8x8 pixels, row by row, from 0 (white) to 16 (black). */
extern const uint8_t test_images[TEST_IMAGES][64];

/* The digit that each image shows. */
extern const uint8_t test_labels[TEST_IMAGES];

#endif
