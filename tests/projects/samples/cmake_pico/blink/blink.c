/* SPDX-License-Identifier: Apache-2.0 */
#include "sdk/stdio.h"

int main(void)
{
    sdk_print("blink\n");
    return 0;
}
