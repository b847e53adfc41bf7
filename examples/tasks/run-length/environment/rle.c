/* A run-length coder: rle -e encodes, rle -d decodes, standard input to standard output. */
#include <stdio.h>
#include <string.h>

static int encode(void) {
    char previous, c;
    char run = 0;
    while ((c = getchar()) != EOF) {
        if (run > 0 && c == previous) {
            run++;
        } else {
            if (run > 0) {
                putchar(run);
                putchar(previous);
            }
            previous = c;
            run = 1;
        }
    }
    return 0;
}

static int decode(void) {
    int run, c;
    while ((run = getchar()) != EOF) {
        c = getchar();
        while (run-- > 0)
            putchar(c);
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "-e") == 0)
        return encode();
    return decode();
}
