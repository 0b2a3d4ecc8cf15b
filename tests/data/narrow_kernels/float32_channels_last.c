/* MaxPool of float32 over two axes with the channels last, without Indices and activations: four channels at a time. */
#include <math.h>
#include <string.h>
#include "maxpool_kit.h"

/* Takes the greater ones of a tap's channels; a NaN stays only where it is the first. */
static void take(float *best, const float *cells, int64_t channels, int is_first) {
    int64_t channel = 0;
    for (; channel + 4 <= channels; channel += 4)
        for (int lane = 0; lane < 4; lane++)
            if (is_first || cells[channel + lane] > best[channel + lane]) best[channel + lane] = cells[channel + lane];
    for (; channel < channels; channel++)
        if (is_first || cells[channel] > best[channel]) best[channel] = cells[channel];
}

int max_pool(const struct maxpool_test *test, const void *x, void *y, int64_t *indices) {
    if (!test->axes) return MAXPOOL_REFUSED;
    if (strcmp(test->dtype, "float32") != 0 || test->rank != 4 || indices) return MAXPOOL_UNABLE;
    if (maxpool_find(test, "activation")) return MAXPOOL_UNABLE;
    const struct maxpool_axis rows = test->axes[0], columns = test->axes[1];
    const int64_t batches = test->shape[0], channels = test->shape[3];
    float *Y = (float *)y;
    for (int64_t batch = 0; batch < batches; batch++) {
        const float *image = (const float *)x + batch * rows.size * columns.size * channels;
        for (int64_t i = 0; i < rows.windows; i++)
            for (int64_t j = 0; j < columns.windows; j++) {
                for (int64_t channel = 0; channel < channels; channel++) Y[channel] = -INFINITY;
                int is_first = 1;
                for (int64_t a = 0; a < rows.kernel; a++) {
                    const int64_t row = i * rows.stride - rows.padding_before + a * rows.dilation;
                    if (row < 0 || row >= rows.size) continue;
                    for (int64_t b = 0; b < columns.kernel; b++) {
                        const int64_t column = j * columns.stride - columns.padding_before + b * columns.dilation;
                        if (column < 0 || column >= columns.size) continue;
                        take(Y, image + (row * columns.size + column) * channels, channels, is_first);
                        is_first = 0;
                    }
                }
                Y += channels;
            }
    }
    return MAXPOOL_DONE;
}
