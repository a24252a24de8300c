#pragma once

#include <span>
#include <vector>

namespace tephra::analysis {

// The distributions that comparing profiles needs. All are good to at least eight digits where they are used.

double normal_cdf(double z);
// For 0 < p < 1.
double normal_quantile(double p);

// The regularised incomplete beta function I_x(a, b), for a, b > 0 and 0 <= x <= 1.
double incomplete_beta(double a, double b, double x);

// Student's t; `freedom` > 0, and infinity is the normal distribution.
double student_cdf(double t, double freedom);
double student_quantile(double p, double freedom);
// The chance of a value at least as far from zero.
double two_sided_p(double t, double freedom);

// The chance of at least (at most) `hits` of `tries` with chance p each. Numbers need not be whole: what lies between
// is interpolated smoothly by the beta distribution.
double binomial_at_least(double hits, double tries, double p);
double binomial_at_most(double hits, double tries, double p);

double digamma(double x);
double trigamma(double x);
// The x with trigamma(x) == y, for y > 0.
double trigamma_inverse(double y);

// Benjamini and Hochberg: for each p the least false-discovery rate at which it is among the findings.
std::vector<double> false_discovery_rates(std::span<const double> p);

}  // namespace tephra::analysis
