package draw

import "math"

// Exp returns e to the power of x, the same bits on every architecture; it is
// within 1e-15·(1+|x|) of the true value, in relative terms, for |x| <= 700. The
// standard library's function is written in assembly on some architectures.
func Exp(x float64) float64 {
	// x = power·ln 2 + rest, so that the series sees at most half of ln 2.
	power := math.Floor(float64(x/math.Ln2) + 0.5)
	rest := x - float64(power*math.Ln2)
	sum := 1.0
	for n := 18.0; n >= 1; n-- {
		sum = 1 + float64(rest*sum)/n
	}
	return math.Ldexp(sum, int(power))
}

// Ln returns the natural logarithm of x > 0, the same bits on every
// architecture; it is within 1e-15 of the true value plus 1e-15 of it.
func Ln(x float64) float64 {
	fraction, power := math.Frexp(x)
	if fraction < math.Sqrt2/2 {
		fraction, power = fraction*2, power-1
	}
	// ln f = 2·artanh((f-1)/(f+1)), and the argument is at most 0.172.
	s := (fraction - 1) / (fraction + 1)
	square := float64(s * s)
	sum := 0.0
	for n := 25.0; n >= 1; n -= 2 {
		sum = float64(sum*square) + 1/n
	}
	return float64(float64(power)*math.Ln2) + float64(2*float64(s*sum))
}
