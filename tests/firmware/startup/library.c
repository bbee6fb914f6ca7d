/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the C library, such as any firmware uses. */
#include <string.h>

volatile char text[32] = "four";
char copy[32];

int main(void)
{
    memcpy(copy, (const char *)text, sizeof copy);
    return (int)strlen(copy) - 4;
}
