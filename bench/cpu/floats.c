/* Floating-point numbers: bodies that attract each other. */
#include <stdio.h>
#include <stdlib.h>

#define BODIES 8

static double position[BODIES][3], speed[BODIES][3], mass[BODIES];

static double root(double x)
{
	double r = x > 1 ? x : 1;
	for (int i = 0; i < 6; i++)
		r = 0.5 * (r + x / r);
	return r;
}

static void step(double dt)
{
	for (int i = 0; i < BODIES; i++)
		for (int j = i + 1; j < BODIES; j++) {
			double d[3], square = 0.01;
			for (int k = 0; k < 3; k++) {
				d[k] = position[i][k] - position[j][k];
				square += d[k] * d[k];
			}
			double force = dt / (square * root(square));
			for (int k = 0; k < 3; k++) {
				speed[i][k] -= d[k] * mass[j] * force;
				speed[j][k] += d[k] * mass[i] * force;
			}
		}
	for (int i = 0; i < BODIES; i++)
		for (int k = 0; k < 3; k++)
			position[i][k] += dt * speed[i][k];
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1;
	for (int i = 0; i < BODIES; i++) {
		mass[i] = 1.0 + i;
		for (int k = 0; k < 3; k++)
			position[i][k] = (i * 7 + k * 3) % 11 - 5.0;
	}
	for (int round = 0; round < rounds; round++)
		step(0.001);
	double sum = 0;
	for (int i = 0; i < BODIES; i++)
		sum += position[i][0] + speed[i][1];
	printf("%.9f\n", sum);
	return 0;
}
