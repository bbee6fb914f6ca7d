#include "print.h"

#include <stdio.h>

void print(const float *values)
{
    printf("%g %g %g %g\n", (double)values[0], (double)values[1], (double)values[2], (double)values[3]);
}
