package bip340

// affine is a point of the curve y² = x³ + 7, but not infinity.
type affine struct{ x, y element }

// point is (x/z², y/z³), and infinity where z is 0.
type point struct{ x, y, z element }

// generator is G of the curve.
var generator = affine{
	element{0x59f2815b16f81798, 0x029bfcdb2dce28d9, 0x55a06295ce870b07, 0x79be667ef9dcbbac},
	element{0x9c47d08ffb10d4b8, 0xfd17b448a6855419, 0x5da4fbfc0e1108a8, 0x483ada7726a3c465},
}

// beta is a third root of 1: (beta x, y) is lambda (x, y).
var beta = element{0xc1396c28719501ee, 0x9cf0497512f58995, 0x6e64479eac3434e9, 0x7ae96a2b657c0710}

// lift sets p to the point with that x coordinate and an even y, and reports whether there is such a point.
func (p *affine) lift(x *element) bool {
	var yy element
	yy.square(x)
	yy.mul(&yy, x)
	yy.add(&yy, &element{7})
	p.x = *x
	if !p.y.root(&yy) {
		return false
	}
	if p.y.isOdd() {
		p.y.negate(&p.y)
	}
	return true
}

func (p *affine) negate(q *affine) {
	p.x = q.x
	p.y.negate(&q.y)
}

func (p *point) set(q *affine) { p.x, p.y, p.z = q.x, q.y, element{1} }

// double sets p to 2 q. No point of this curve has the order 2, so no point but infinity has y = 0.
func (p *point) double(q *point) {
	var l, s, t, u element
	s.square(&q.y)
	l.square(&q.x) // l = 3x²/2
	t.add(&l, &l)
	l.add(&l, &t)
	l.halve(&l)
	t.mul(&q.x, &s) // t = xy²
	p.z.mul(&q.y, &q.z)
	u.square(&l)
	u.sub(&u, &t)
	p.x.sub(&u, &t) // l² - 2t
	u.sub(&t, &p.x)
	u.mul(&u, &l)
	s.square(&s)
	p.y.sub(&u, &s) // l(t - x) - y⁴
}

// add adds q to p.
func (p *point) add(q *affine) {
	if p.z.isZero() {
		p.set(q)
		return
	}
	p.addScaled(q, &p.z)
}

// addScaled adds (q.x, q.y, p.z/z) to p, which is not infinity. It returns the factor by which it multiplied p.z, or 0 when the points
// were the same or their sum is infinity.
func (p *point) addScaled(q *affine, z *element) (h element) {
	var zz, s, i, hh, t element
	zz.square(z)
	h.mul(&q.x, &zz)
	h.sub(&h, &p.x) // the difference of the x
	zz.mul(&zz, z)
	s.mul(&q.y, &zz)
	i.sub(&s, &p.y) // the difference of the y
	if h.isZero() {
		p.meet(&i)
		return h
	}
	p.z.mul(&p.z, &h)
	hh.square(&h)
	t.mul(&p.x, &hh)
	hh.mul(&hh, &h)
	s.square(&i)
	s.sub(&s, &hh)
	s.sub(&s, &t)
	p.x.sub(&s, &t) // i² - h³ - 2t
	t.sub(&t, &p.x)
	t.mul(&t, &i)
	hh.mul(&hh, &p.y)
	p.y.sub(&t, &hh) // i(t - x) - yh³
	return h
}

// meet adds a point with the same x to p. The y of the two differ by i.
func (p *point) meet(i *element) {
	if i.isZero() {
		p.double(p)
		return
	}
	*p = point{}
}
