/* SPDX-License-Identifier: Apache-2.0
 *
 * Any function of one number, as a table.
 */
#include "tvm_blocks_s8.h"

void tvm_table_s8(int32_t elements, int32_t flip, const void *table, const void *input, void *output)
{
    const uint8_t *values = table;
    const uint8_t *from = input;
    uint8_t *to = output;

    for (; elements > 0; elements--) {
        *to++ = values[*from++ ^ flip];
    }
}
