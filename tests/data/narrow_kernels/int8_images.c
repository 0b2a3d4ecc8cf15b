/* MaxPool of int8 over two axes, without dilations and Indices: maxima down the columns of the window's rows, eight at a time, and then
   along them. */
#include <string.h>
#include "maxpool_kit.h"

#define WIDEST 256

int max_pool(const struct maxpool_test *test, const void *x, void *y, int64_t *indices) {
    int8_t line[WIDEST];
    if (!test->axes) return MAXPOOL_REFUSED;
    if (strcmp(test->dtype, "int8") != 0 || test->rank != 4 || indices) return MAXPOOL_UNABLE;
    const struct maxpool_axis rows = test->axes[0], columns = test->axes[1];
    if (rows.dilation != 1 || columns.dilation != 1 || columns.size > WIDEST) return MAXPOOL_UNABLE;
    int8_t *Y = (int8_t *)y;
    const int64_t batches = test->shape[0], channels = test->shape[1];
    for (int64_t batch = 0; batch < batches; batch++)
        for (int64_t channel = 0; channel < channels; channel++) {
            const int8_t *plane = (const int8_t *)x + (batch * channels + channel) * rows.size * columns.size;
            for (int64_t i = 0; i < rows.windows; i++) {
                int64_t top = i * rows.stride - rows.padding_before, bottom = top + rows.kernel;
                if (top < 0) top = 0;
                if (bottom > rows.size) bottom = rows.size;
                memset(line, INT8_MIN, sizeof line);
                for (int64_t row = top; row < bottom; row++) {
                    const int8_t *cells = plane + row * columns.size;
                    int64_t column = 0;
                    for (; column + 8 <= columns.size; column += 8)
                        for (int lane = 0; lane < 8; lane++)
                            if (cells[column + lane] > line[column + lane]) line[column + lane] = cells[column + lane];
                    for (; column < columns.size; column++)
                        if (cells[column] > line[column]) line[column] = cells[column];
                }
                for (int64_t j = 0; j < columns.windows; j++) {
                    int64_t left = j * columns.stride - columns.padding_before, right = left + columns.kernel;
                    if (left < 0) left = 0;
                    if (right > columns.size) right = columns.size;
                    int8_t best = INT8_MIN;
                    for (int64_t column = left; column < right; column++)
                        if (line[column] > best) best = line[column];
                    *Y++ = best;
                }
            }
        }
    return MAXPOOL_DONE;
}
