package bip340

import (
	curve "github.com/consensys/gnark-crypto/ecc/secp256k1"
	"github.com/consensys/gnark-crypto/ecc/secp256k1/fp"
	"github.com/consensys/gnark-crypto/ecc/secp256k1/fr"
)

const (
	baseWindow = 12 // of the generator, whose multiples are made once: 2^10 of them
	keyWindow  = 5  // of a key, whose multiples are made for each signature: 2^3 of them
)

// multiples are a point times 1, 3, 5 and so on, and lambda times these.
type multiples struct{ own, turned []curve.G1Affine }

var base = func() multiples {
	_, g := curve.Generators()
	m := multiples{make([]curve.G1Affine, 1<<(baseWindow-2)), make([]curve.G1Affine, 1<<(baseWindow-2))}
	m.fill(&g, make([]curve.G1Jac, 1<<(baseWindow-2)), make([]fp.Element, 1<<(baseWindow-2)))
	return m
}()

// fill makes the multiples of p, which is not the point at infinity. The other slices are of the same length and hold
// nothing of interest.
func (m *multiples) fill(p *curve.G1Affine, jac []curve.G1Jac, zs []fp.Element) {
	var twice curve.G1Jac
	twice.FromAffine(p)
	jac[0] = twice
	twice.DoubleAssign()
	for i := 1; i < len(jac); i++ {
		jac[i] = jac[i-1]
		jac[i].AddAssign(&twice)
	}
	invert(zs, jac)
	for i := range jac {
		var zz fp.Element
		zz.Square(&zs[i])
		m.own[i].X.Mul(&jac[i].X, &zz)
		m.own[i].Y.Mul(&jac[i].Y, &zz).Mul(&m.own[i].Y, &zs[i])
		m.turned[i].X.Mul(&m.own[i].X, &beta)
		m.turned[i].Y = m.own[i].Y
	}
}

// invert sets zs to the inverses of the Z of all points, by one inversion.
func invert(zs []fp.Element, points []curve.G1Jac) {
	product := fp.One()
	for i := range points {
		zs[i] = product // of all before
		product.Mul(&product, &points[i].Z)
	}
	product.Inverse(&product)
	for i := len(points) - 1; i >= 0; i-- {
		zs[i].Mul(&zs[i], &product)
		product.Mul(&product, &points[i].Z)
	}
}

// combine is sG + eP.
func combine(s, e *fr.Element, p *curve.G1Affine) curve.G1Jac {
	const n = 1 << (keyWindow - 2)
	var own, turned [n]curve.G1Affine
	var jac [n]curve.G1Jac
	var zs [n]fp.Element
	key := multiples{own[:], turned[:]}
	key.fill(p, jac[:], zs[:])

	var ds [4]digits
	s1, s2 := split(s)
	e1, e2 := split(e)
	length := max(ds[0].recode(&s1, baseWindow), ds[1].recode(&s2, baseWindow),
		ds[2].recode(&e1, keyWindow), ds[3].recode(&e2, keyWindow))
	var sum curve.G1Jac // infinity: Z is 0
	for i := length - 1; i >= 0; i-- {
		sum.DoubleAssign()
		add(&sum, base.own, ds[0][i])
		add(&sum, base.turned, ds[1][i])
		add(&sum, key.own, ds[2][i])
		add(&sum, key.turned, ds[3][i])
	}
	return sum
}

// add adds digit times the point of which m holds the odd multiples.
func add(sum *curve.G1Jac, m []curve.G1Affine, digit int16) {
	switch {
	case digit > 0:
		sum.AddMixed(&m[digit>>1])
	case digit < 0:
		q := m[-digit>>1]
		q.Y.Neg(&q.Y)
		sum.AddMixed(&q)
	}
}
