#include <stddef.h>
#include <stdint.h>

void *memcpy(void *to, const void *from, size_t count);
void *memset(void *to, int value, size_t count);

void *memcpy(void *to, const void *from, size_t count)
{
    size_t i;
    for (i = 0; i < count; ++i) {
        ((uint8_t *)to)[i] = ((const uint8_t *)from)[i];
    }
    return to;
}

void *memset(void *to, int value, size_t count)
{
    size_t i;
    for (i = 0; i < count; ++i) {
        ((uint8_t *)to)[i] = (uint8_t)value;
    }
    return to;
}
