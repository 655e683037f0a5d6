package bip340

// pair adds the points of each place in pairs, and reports whether it did: it leaves few pairs as they are.
func (t *terms) pair() bool {
	pairs := 0
	for _, h := range t.height {
		pairs += int(h / 2)
	}
	if pairs < fewPairs {
		return false
	}
	t.below = sized(t.below, pairs)
	next := 0
	for i := range t.height {
		for ps := t.place(i); len(ps) > 1; ps = ps[2:] {
			t.below[next] = slopeBelow(&ps[0], &ps[1])
			next++
		}
	}
	t.invert()
	next = 0
	for i := range t.height {
		from, to := t.place(i), t.place(i)[:0]
		for ; len(from) > 1; from = from[2:] {
			var sum affine
			if sum.meet(&from[0], &from[1], &t.below[next]) {
				to = append(to, sum) // never beyond what was read
			}
			next++
		}
		to = append(to, from...)
		t.height[i] = int32(len(to))
	}
	return true
}

// slopeBelow is what the slope of the line through p and q is divided by: that of the chord or, where they are the same, of the
// tangent; 1 where the line is vertical and the sum infinity.
func slopeBelow(p, q *affine) (d element) {
	if d.sub(&q.x, &p.x); !d.isZero() {
		return d
	}
	if p.y.equal(&q.y) {
		d.add(&p.y, &p.y)
		return d
	}
	return element{1}
}

// meet sets z to p + q, given 1 / slopeBelow of them, and reports whether it is a point other than infinity.
func (z *affine) meet(p, q *affine, inverse *element) bool {
	switch {
	case !p.x.equal(&q.x):
		z.chord(p, q, inverse)
		return true
	case p.y.equal(&q.y):
		z.tangent(p, inverse)
		return true
	}
	return false
}

// chord sets z to p + q, given 1 / (q.x - p.x).
func (z *affine) chord(p, q *affine, inverse *element) {
	var slope element
	slope.sub(&q.y, &p.y)
	slope.mul(&slope, inverse)
	z.third(p, &q.x, &slope)
}

// tangent sets z to 2p, given 1 / 2p.y.
func (z *affine) tangent(p *affine, inverse *element) {
	var slope, xx element
	xx.square(&p.x)
	slope.add(&xx, &xx)
	slope.add(&slope, &xx)
	slope.mul(&slope, inverse)
	z.third(p, &p.x, &slope)
}

// third sets z to the negative of the third point of the curve on a line through p and a point at qx.
func (z *affine) third(p *affine, qx, slope *element) {
	var x, y element
	x.square(slope)
	x.sub(&x, &p.x)
	x.sub(&x, qx)
	y.sub(&p.x, &x)
	y.mul(&y, slope)
	y.sub(&y, &p.y)
	z.x, z.y = x, y
}

// invert sets below to the inverses of its elements, none of which is 0, by one inversion.
func (t *terms) invert() {
	n := len(t.below)
	if n == 0 {
		return
	}
	t.before = sized(t.before, n)
	product := element{1}
	for i := range t.below {
		t.before[i] = product
		product.mul(&product, &t.below[i])
	}
	product.invert(&product)
	for i := n - 1; i >= 0; i-- {
		d := t.below[i]
		t.below[i].mul(&t.before[i], &product)
		product.mul(&product, &d)
	}
}
