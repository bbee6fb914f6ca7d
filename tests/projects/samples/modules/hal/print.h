void print(const float *values);
