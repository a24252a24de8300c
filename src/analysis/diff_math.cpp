#include "analysis/diff_math.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace tephra::analysis {
namespace {

// Where Student's t cannot be told from the normal distribution any more.
constexpr double kManyFreedoms = 1e7;

// The continued fraction of the incomplete beta function, evaluated from the front (Lentz).
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  constexpr double kClose = 1e-15;
  const auto not_zero = [](double value) { return std::fabs(value) < kTiny ? kTiny : value; };
  double c = 1;
  double d = 1 / not_zero(1 - (a + b) * x / (a + 1));
  double result = d;
  for (int i = 1; i < 10'000; ++i) {
    const double m = i;
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / not_zero(1 + even * d);
    c = not_zero(1 + even / c);
    result *= c * d;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / not_zero(1 + odd * d);
    c = not_zero(1 + odd / c);
    const double step = c * d;
    result *= step;
    if (std::fabs(step - 1) < kClose) break;
  }
  return result;
}

// std::lgamma writes a global variable.
double log_gamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

// The quantile of a distribution that is symmetric around zero, by halving.
template <class Cdf>
double symmetric_quantile(double p, Cdf cdf) {
  if (p == 0.5) return 0;
  if (p < 0.5) return -symmetric_quantile(1 - p, cdf);
  double low = 0;
  double high = 1;
  while (cdf(high) < p && high < 1e300) high *= 2;
  for (int i = 0; i < 200 && high - low > 1e-14 * high; ++i) {
    const double middle = (low + high) / 2;
    (cdf(middle) < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace

double normal_cdf(double z) { return std::erfc(-z / std::sqrt(2.0)) / 2; }

double normal_quantile(double p) { return symmetric_quantile(p, normal_cdf); }

double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * std::log(x) + b * std::log1p(-x));
  // The fraction converges fast on this side of the mean, the other is its mirror.
  if (x < (a + 1) / (a + b + 2)) return std::clamp(front * beta_fraction(a, b, x) / a, 0.0, 1.0);
  return std::clamp(1 - front * beta_fraction(b, a, 1 - x) / b, 0.0, 1.0);
}

double two_sided_p(double t, double freedom) {
  if (std::isnan(t)) return 1;
  if (!(freedom < kManyFreedoms)) return std::erfc(std::fabs(t) / std::sqrt(2.0));
  if (std::isinf(t)) return 0;
  return incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t));
}

double student_cdf(double t, double freedom) {
  const double tail = two_sided_p(t, freedom) / 2;
  return t < 0 ? tail : 1 - tail;
}

double student_quantile(double p, double freedom) {
  if (!(freedom < kManyFreedoms)) return normal_quantile(p);
  return symmetric_quantile(p, [freedom](double t) { return student_cdf(t, freedom); });
}

double binomial_at_least(double hits, double tries, double p) {
  if (hits <= 0) return 1;
  if (hits > tries) return 0;
  return incomplete_beta(hits, tries - hits + 1, p);
}

double binomial_at_most(double hits, double tries, double p) {
  if (hits >= tries) return 1;
  if (hits < 0) return 0;
  return incomplete_beta(tries - hits, hits + 1, 1 - p);
}

double digamma(double x) {
  double sum = 0;
  for (; x < 10; ++x) sum -= 1 / x;
  const double r = 1 / (x * x);
  return sum + std::log(x) - 0.5 / x - r * (1.0 / 12 - r * (1.0 / 120 - r * (1.0 / 252 - r * (1.0 / 240 - r / 132))));
}

double trigamma(double x) {
  double sum = 0;
  for (; x < 10; ++x) sum += 1 / (x * x);
  const double r = 1 / (x * x);
  return sum + 1 / x + r / 2 + r / x * (1.0 / 6 - r * (1.0 / 30 - r * (1.0 / 42 - r * (1.0 / 30 - r * 5 / 66))));
}

double trigamma_inverse(double y) {
  // trigamma falls from infinity to zero.
  double low = 0;
  double high = 1;
  while (trigamma(high) > y && high < 1e15) high *= 2;
  for (int i = 0; i < 200 && high - low > 1e-13 * high; ++i) {
    const double middle = (low + high) / 2;
    (trigamma(middle) > y ? low : high) = middle;
  }
  return (low + high) / 2;
}

std::vector<double> false_discovery_rates(std::span<const double> p) {
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return p[a] < p[b]; });
  std::vector<double> rates(p.size());
  double least = 1;
  for (size_t rank = p.size(); rank > 0; --rank) {
    const size_t at = order[rank - 1];
    least = std::min(least, p[at] * static_cast<double>(p.size()) / static_cast<double>(rank));
    rates[at] = least;
  }
  return rates;
}

}  // namespace tephra::analysis
