#include "analysis/diff_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tephra::analysis {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

// Values of printed tables.
TEST(DiffMath, QuantilesAreThoseOfTables) {
  EXPECT_NEAR(normal_quantile(0.975), 1.959963985, 1e-8);
  EXPECT_NEAR(normal_quantile(0.8), 0.841621234, 1e-8);
  EXPECT_NEAR(normal_quantile(0.0005), -3.290526731, 1e-8);
  EXPECT_NEAR(student_quantile(0.975, 1), 12.706204736, 1e-6);
  EXPECT_NEAR(student_quantile(0.975, 2), 4.302652730, 1e-8);
  EXPECT_NEAR(student_quantile(0.975, 4), 2.776445105, 1e-8);
  EXPECT_NEAR(student_quantile(0.975, 10), 2.228138852, 1e-8);
  EXPECT_NEAR(student_quantile(0.995, 30), 2.749995654, 1e-8);
  EXPECT_NEAR(student_quantile(0.975, kInfinite), 1.959963985, 1e-8);
  EXPECT_NEAR(student_quantile(0.025, 10), -2.228138852, 1e-8);
}

TEST(DiffMath, StudentsTailsAreExactForOneAndTwoFreedoms) {
  for (const double t : {0.1, 1.0, 3.0, 40.0, 1e4}) {
    EXPECT_NEAR(two_sided_p(t, 1) / (1 - 2 * std::atan(t) / std::acos(-1)), 1, 1e-6);
    EXPECT_NEAR(student_cdf(-t, 2), (1 - t / std::sqrt(2 + t * t)) / 2, 1e-12);
  }
  EXPECT_EQ(two_sided_p(0, 5), 1);
  EXPECT_EQ(two_sided_p(kInfinite, 5), 0);
}

TEST(DiffMath, IncompleteBetaIsThatOfSumsAndSwaps) {
  EXPECT_NEAR(incomplete_beta(1, 1, 0.3), 0.3, 1e-14);
  EXPECT_NEAR(incomplete_beta(2, 3, 0.4), 0.5248, 1e-12);
  for (const double x : {0.01, 0.2, 0.5, 0.9}) {
    EXPECT_NEAR(incomplete_beta(7.5, 2.25, x) + incomplete_beta(2.25, 7.5, 1 - x), 1, 1e-12);
  }
  EXPECT_NEAR(incomplete_beta(50'000, 50'000, 0.5), 0.5, 1e-9);
}

TEST(DiffMath, BinomialTailsAreSums) {
  // 8 or more heads of ten: 56 of 1024.
  EXPECT_NEAR(binomial_at_least(8, 10, 0.5), 56.0 / 1024, 1e-12);
  EXPECT_NEAR(binomial_at_most(2, 10, 0.5), 56.0 / 1024, 1e-12);
  EXPECT_NEAR(binomial_at_most(0, 5, 0.5), 1.0 / 32, 1e-12);
  EXPECT_EQ(binomial_at_least(0, 5, 0.5), 1);
  EXPECT_EQ(binomial_at_most(5, 5, 0.5), 1);
}

TEST(DiffMath, GammaDerivatives) {
  EXPECT_NEAR(digamma(1), -0.577215664902, 1e-10);
  EXPECT_NEAR(digamma(0.5), -1.963510026021, 1e-10);
  EXPECT_NEAR(trigamma(1), std::acos(-1) * std::acos(-1) / 6, 1e-10);
  EXPECT_NEAR(trigamma(0.5), std::acos(-1) * std::acos(-1) / 2, 1e-10);
  for (const double x : {0.02, 0.7, 3.0, 250.0}) EXPECT_NEAR(trigamma_inverse(trigamma(x)) / x, 1, 1e-9);
}

// The example of Benjamini and Hochberg's paper of 1995: at 5 %, the first four are findings.
TEST(DiffMath, FalseDiscoveryRates) {
  const std::vector<double> p{0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                              0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.000};
  const auto rates = false_discovery_rates(p);
  size_t found = 0;
  for (const double rate : rates) found += rate <= 0.05;
  EXPECT_EQ(found, 4u);
  EXPECT_NEAR(rates[0], 0.0015, 1e-12);
  EXPECT_NEAR(rates[3], 0.0095 * 15 / 4, 1e-12);
  EXPECT_EQ(rates[14], 1);
  // In any order, and never falling with p.
  const std::vector<double> mixed{0.5, 0.01, 0.02};
  const auto of_mixed = false_discovery_rates(mixed);
  EXPECT_NEAR(of_mixed[0], 0.5, 1e-12);
  EXPECT_NEAR(of_mixed[1], 0.03, 1e-12);
  EXPECT_NEAR(of_mixed[2], 0.03, 1e-12);
  EXPECT_TRUE(false_discovery_rates({}).empty());
}

}  // namespace
}  // namespace tephra::analysis
