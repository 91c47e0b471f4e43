// hilo: guess a number. The game as it was, for a terminal
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int secret, tries;

static void start(void) {
    secret = 1 + rand() % 15;
    tries = 4;
    printf("A number from 1 to 15. You have %d tries.\n", tries);
}

int main(void) {
    srand((unsigned)time(NULL));
    start();
    int guess;
    while (scanf("%d", &guess) == 1) {
        tries--;
        if (guess == secret) {
            printf("Yes!\n");
            start();
        } else if (tries == 0) {
            printf("It was %d.\n", secret);
            start();
        } else {
            printf(guess < secret ? "Higher.\n" : "Lower.\n");
        }
    }
    return 0;
}
