/* A kernel behind the protocol of maxpool-check, in C: one JSON line in, one out, until stdin ends.
   It computes MaxPool of float32 in two dimensions, explicit pads, rounded down; it cannot express the rest.
   cc -O2 -o maxpool maxpool.c && maxpool-check run cases/ -t "command:./maxpool" */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *SIXTY_FOUR = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static int list(const char *json, const char *name, long *to, int most) { /* the integers behind "name": [ */
    char key[64];
    snprintf(key, sizeof key, "\"%s\": [", name);
    const char *at = strstr(json, key);
    int count = 0;
    for (at = at ? at + strlen(key) : "]"; *at != ']' && count < most; at += *at == ',' ? 2 : 0)
        to[count++] = strtol(at, (char **)&at, 10);
    return count;
}

static void print64(const void *data, size_t size) {
    const unsigned char *b = data;
    for (size_t i = 0; i < size; i += 3) {
        unsigned v = b[i] << 16 | (i + 1 < size ? b[i + 1] << 8 : 0) | (i + 2 < size ? b[i + 2] : 0);
        putchar(SIXTY_FOUR[v >> 18]), putchar(SIXTY_FOUR[v >> 12 & 63]);
        putchar(i + 1 < size ? SIXTY_FOUR[v >> 6 & 63] : '='), putchar(i + 2 < size ? SIXTY_FOUR[v & 63] : '=');
    }
}

static void send(long id, const char *type, const char *status, const char *message) {
    printf("{\"id\": %ld, \"type\": \"%s\", \"status\": \"%s\", \"message\": \"%s\"}\n", id, type, status, message);
}

static void respond(const char *q, long id) {
    long n[5], k[3], s[3], d[3], p[5], o[2];
    int fits = list(q, "kernel_shape", k, 3) == 2 && list(q, "strides", s, 3) == 2 && list(q, "dilations", d, 3) == 2;
    if (!strstr(q, "\"dtype\": \"float32\"") || !strstr(q, "\"auto_pad\": \"NOTSET\"") ||
        !strstr(q, "\"ceil_mode\": 0") || !strstr(q, "\"storage_order\": 0") || list(q, "shape", n, 5) != 4)
        return send(id, "unable", "", "float32 in two dimensions, explicit pads, rounded down");
    if (!fits || list(q, "pads", p, 5) != 4) return send(id, "refusal", "INVALID_ARGUMENT", "lengths");
    for (int a = 0; a < 2; a++) {
        long span = n[2 + a] + p[a] + p[2 + a] - (k[a] - 1) * d[a] - 1;
        if (k[a] < 1 || s[a] < 1 || d[a] < 1 || p[a] < 0 || p[2 + a] < 0 || span < 0)
            return send(id, "refusal", "INVALID_ARGUMENT", "no such window");
        o[a] = span / s[a] + 1;
    }
    size_t in = n[0] * n[1] * n[2] * n[3], out = n[0] * n[1] * o[0] * o[1], bytes = 0;
    float *X = malloc(in * 4 + 4), *Y = calloc(out + 1, 4);
    long long *I = calloc(out + 1, 8);
    const char *c = strstr(q, "\"data\": \"") + 9;
    for (unsigned v = 0, bits = 0; *c != '"' && *c != '='; c++)
        if (v = v << 6 | (unsigned)(strchr(SIXTY_FOUR, *c) - SIXTY_FOUR), (bits += 6) >= 8)
            ((unsigned char *)X)[bytes++] = v >> (bits -= 8);
    for (size_t y = 0; y < out; y++) {
        long long row = y / o[1] % o[0] * s[0] - p[0], column = y % o[1] * s[1] - p[1], best = -1;
        long long plane = y / (o[0] * o[1]) * n[2] * n[3];
        for (long t = 0; t < k[0] * k[1]; t++) {
            long long h = row + t / k[1] * d[0], w = column + t % k[1] * d[1], cell = plane + h * n[3] + w;
            if (h >= 0 && h < n[2] && w >= 0 && w < n[3] && (best < 0 || X[cell] > X[best])) best = cell;
        }
        Y[y] = best < 0 ? 0 : X[best], I[y] = best;
    }
    printf("{\"id\": %ld, \"type\": \"result\", \"outputs\": {", id);
    for (int i = 0; i <= (strstr(q, "\"Indices\"") != NULL); i++) {
        printf("%s\"%s\": {\"dtype\": \"%s\", \"shape\": [%ld, %ld, %ld, %ld], \"data\": \"", i ? ", " : "",
               i ? "Indices" : "Y", i ? "int64" : "float32", n[0], n[1], o[0], o[1]);
        i ? print64(I, out * 8) : print64(Y, out * 4);
        printf("\"}");
    }
    printf("}}\n");
    free(X), free(Y), free(I);
}

int main(void) {
    char *line = NULL;
    size_t room = 0;
    if (getline(&line, &room, stdin) < 0) return 0;
    printf("{\"type\": \"ready\", \"protocol\": 1, \"distribution\": \"example-c\", \"version\": \"1.0\"}\n");
    for (fflush(stdout); getline(&line, &room, stdin) > 0; fflush(stdout))
        respond(line, strtol(strstr(line, "\"id\": ") + 6, NULL, 10));
    return 0;
}
