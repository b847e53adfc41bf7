/* A run-length coder: rle -e encodes, rle -d decodes, standard input to standard output. */
#include <stdio.h>
#include <string.h>

static int encode(void) {
    int previous = EOF, run = 0, c;
    while ((c = getchar()) != EOF) {
        if (c == previous && run < 255) {
            run++;
            continue;
        }
        if (run > 0) {
            putchar(run);
            putchar(previous);
        }
        previous = c;
        run = 1;
    }
    if (run > 0) {
        putchar(run);
        putchar(previous);
    }
    return 0;
}

static int decode(void) {
    int run, c;
    while ((run = getchar()) != EOF) {
        c = getchar();
        if (run == 0 || c == EOF)
            return 1;
        while (run-- > 0)
            putchar(c);
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "-e") == 0)
        return encode();
    if (argc == 2 && strcmp(argv[1], "-d") == 0)
        return decode();
    fprintf(stderr, "usage: rle -e | -d\n");
    return 2;
}
