package bip340

import "github.com/consensys/gnark-crypto/ecc/secp256k1/fr"

const (
	baseWindow = 12 // bits, for the generator: its 2^10 multiples are made once
	keyWindow  = 5  // bits, for a key: its 2^3 multiples are made for each signature
)

// multiples are a point times 1, 3, 5 and so on, and lambda times these.
type multiples struct{ own, turned []affine }

// fill makes the multiples of p without an inversion. All have the same z, which fill returns: (x, y) stands for
// (x/z², y/z³). The slice grown is as long as m.own; fill uses it as scratch.
func (m *multiples) fill(p *affine, grown []element) (z element) {
	var twice, sum point
	sum.set(p)
	twice.double(&sum)
	// On the curve where 2P has z = 1, adding 2P is cheap. So P is scaled to that curve, and the sums have the z of that curve.
	step := affine{twice.x, twice.y}
	sum.x, sum.y = p.scaled(&twice.z)
	m.own[0] = affine{sum.x, sum.y}
	for i := 1; i < len(m.own); i++ {
		grown[i] = sum.addScaled(&step, &sum.z)
		m.own[i] = affine{sum.x, sum.y}
	}
	rest := element{1} // the last z divided by that of the multiple at hand
	for i := len(m.own) - 1; i >= 0; i-- {
		m.own[i].x, m.own[i].y = m.own[i].scaled(&rest)
		m.turned[i].x.mul(&m.own[i].x, &beta)
		m.turned[i].y = m.own[i].y
		rest.mul(&rest, &grown[i])
	}
	z.mul(&sum.z, &twice.z)
	return z
}

// scaled returns (x z², y z³).
func (p *affine) scaled(z *element) (x, y element) {
	x.square(z)
	y.mul(&x, z)
	x.mul(&x, &p.x)
	y.mul(&y, &p.y)
	return x, y
}

// base are the multiples of the generator, with z = 1.
var base = func() multiples {
	const n = 1 << (baseWindow - 2)
	m := multiples{make([]affine, n), make([]affine, n)}
	z := m.fill(&generator, make([]element, n))
	z.invert(&z)
	for i := range m.own {
		m.own[i].x, m.own[i].y = m.own[i].scaled(&z)
		m.turned[i].x.mul(&m.own[i].x, &beta)
		m.turned[i].y = m.own[i].y
	}
	return m
}()

// combine returns sG + eP.
func combine(s, e *fr.Element, p *affine) point {
	const n = 1 << (keyWindow - 2)
	var own, turned [n]affine
	var grown [n]element
	key := multiples{own[:], turned[:]}
	z := key.fill(p, grown[:])

	var ds [4]digits
	s1, s2 := split(s)
	e1, e2 := split(e)
	length := max(ds[0].recode(&s1, baseWindow), ds[1].recode(&s2, baseWindow),
		ds[2].recode(&e1, keyWindow), ds[3].recode(&e2, keyWindow))
	var sum point // on the curve of the key's multiples
	for i := length - 1; i >= 0; i-- {
		sum.double(&sum)
		sum.addBase(base.own, ds[0][i], &z)
		sum.addBase(base.turned, ds[1][i], &z)
		sum.addKey(own[:], ds[2][i])
		sum.addKey(turned[:], ds[3][i])
	}
	sum.z.mul(&sum.z, &z)
	return sum
}

// addKey adds digit times a point; m holds the odd multiples of the point.
func (p *point) addKey(m []affine, digit int16) {
	if digit != 0 {
		q := multiple(m, digit)
		p.add(&q)
	}
}

// addBase adds digit times a point to p, on a curve where (x, y) of m is (x z², y z³).
func (p *point) addBase(m []affine, digit int16, z *element) {
	if digit == 0 {
		return
	}
	q := multiple(m, digit)
	if p.z.isZero() {
		q.x, q.y = q.scaled(z)
		p.set(&q)
		return
	}
	var ratio element
	ratio.mul(&p.z, z)
	p.addScaled(&q, &ratio)
}

// multiple returns an odd digit times a point; m holds the odd multiples of the point.
func multiple(m []affine, digit int16) (q affine) {
	if digit > 0 {
		return m[digit>>1]
	}
	q.negate(&m[-digit>>1])
	return q
}
