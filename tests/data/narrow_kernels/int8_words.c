/* MaxPool of int8 as XMOS has it: rows, columns and channels, whose number is a multiple of 4, so that a word of 4 goes at a time. */
#include <string.h>
#include "maxpool_kit.h"

#define LANES 4

int max_pool(const struct maxpool_test *test, const void *x, void *y, int64_t *indices) {
    if (!test->axes) return MAXPOOL_REFUSED;
    if (strcmp(test->dtype, "int8") != 0 || test->rank != 3 || indices) return MAXPOOL_UNABLE;
    const struct maxpool_axis rows = test->axes[0], columns = test->axes[1];
    const int64_t channels = test->shape[2], first_row = -rows.padding_before, first_column = -columns.padding_before;
    const int64_t of_a_row = columns.size * channels;
    int8_t *Y = (int8_t *)y;
    for (int64_t i = 0; i < rows.windows; i++)
        for (int64_t j = 0; j < columns.windows; j++) {
            const int8_t *corner = (const int8_t *)x;
            corner += (first_row + i * rows.stride) * of_a_row + (first_column + j * columns.stride) * channels;
            for (int64_t word = 0; word < channels; word += LANES) {
                int8_t best[LANES] = {INT8_MIN, INT8_MIN, INT8_MIN, INT8_MIN};
                for (int64_t a = 0; a < rows.kernel; a++)
                    for (int64_t b = 0; b < columns.kernel; b++) {
                        const int8_t *cells = corner + a * of_a_row + b * channels + word;
                        for (int lane = 0; lane < LANES; lane++)
                            if (cells[lane] > best[lane]) best[lane] = cells[lane];
                    }
                memcpy(Y, best, LANES);
                Y += LANES;
            }
        }
    return MAXPOOL_DONE;
}
