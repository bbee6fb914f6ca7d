// SPDX-License-Identifier: Apache-2.0
// A static object of C++, made before main.
#include "tvm_semihosting.h"
#include "tvm_startup.h"

namespace
{

volatile int seed = 3;

struct Object {
    int value;
    Object() : value(seed + 4)
    {
    }
    ~Object()
    {
        value = 0;
    }
};

Object object;

} // namespace

int main()
{
    tvm_semihosting_write("made\n");
    return object.value - 7;
}
