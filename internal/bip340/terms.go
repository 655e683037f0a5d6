package bip340

import "github.com/consensys/gnark-crypto/ecc/secp256k1/fr"

const (
	termWindow = 4 // of each point of a batch: its multiples by 1, 3, 5 and 7
	places     = len(digits{})
	fewPairs   = 64 // below which one inversion for all costs more than it saves
)

// terms are the products of points and numbers of 128 bits whose sum is sought. Each number is written in digits, so that the
// sum is that of 2^i times the points, each multiplied by a digit, that stand in the i-th place. The points of all places are
// added in pairs, each pair with an affine addition, and all inversions of a round of pairs are one. Of few points that leaves
// Strauss's method; of many it costs no more than Pippenger's buckets up to some thousand points, and has no sizes to choose.
type terms struct {
	rows    []row
	numbers []term
	bottom  [places]int32 // of each place in points
	height  [places]int32
	points  []affine
	below   []element // what the slope of a pair is divided by, and then 1 through it
	before  []element
}

// row are a point's multiples by 1, 3, 5 and so on.
type row [1 << (termWindow - 2)]affine

// term are the digits of a number, and the row of the point that it multiplies.
type term struct {
	digits
	length int
	row    []affine
}

// vanish reports whether all a R, gG and e P of those keys that are here add up to infinity.
func (t *terms) vanish(g *fr.Element, keys []folded, here []int32, rs []affine, as []half) bool {
	t.rows, t.numbers = t.rows[:0], t.numbers[:0]
	for i := range rs {
		t.rows = append(t.rows, row{rs[i]})
	}
	for _, i := range here {
		if !keys[i].filled {
			t.rows = append(t.rows, keys[i].row)
		}
	}
	t.multiply()
	for i := range rs {
		t.number(&as[i], t.rows[i][:])
	}
	filled := t.rows[len(rs):]
	for _, i := range here {
		k := &keys[i]
		if !k.filled {
			k.filled, k.row, k.turned = true, filled[0], filled[0].turned()
			filled = filled[1:]
		}
		e1, e2 := split(&k.e)
		t.number(&e1, k.row[:])
		t.number(&e2, k.turned[:])
	}
	t.lay(g)
	for t.pair() {
	}
	return t.isInfinity()
}

// number adds a number times the point of a row.
func (t *terms) number(h *half, row []affine) {
	t.numbers = append(t.numbers, term{row: row})
	n := &t.numbers[len(t.numbers)-1]
	n.length = n.recode(h, termWindow)
}

// turned is lambda times the row.
func (r *row) turned() row {
	out := *r
	for i := range out {
		out[i].x.mul(&out[i].x, &beta)
	}
	return out
}

// multiply fills the rows, each from its point. No addition meets a point twice or its negative, as the order of the group is
// a large prime.
func (t *terms) multiply() {
	n := len(t.rows)
	t.points, t.below = sized(t.points, n), sized(t.below, n) // of points, twice each
	for i := range t.rows {
		y := &t.rows[i][0].y
		t.below[i].add(y, y)
	}
	t.invert()
	for i := range t.rows {
		t.points[i].tangent(&t.rows[i][0], &t.below[i])
	}
	for j := 1; j < len(row{}); j++ {
		for i := range t.rows {
			t.below[i].sub(&t.points[i].x, &t.rows[i][j-1].x)
		}
		t.invert()
		for i := range t.rows {
			t.rows[i][j].chord(&t.rows[i][j-1], &t.points[i], &t.below[i])
		}
	}
}

// lay puts the points of all digits into their places, those of g times the generator too.
func (t *terms) lay(g *fr.Element) {
	var d1, d2 digits
	g1, g2 := split(g)
	d1.recode(&g1, baseWindow)
	d2.recode(&g2, baseWindow)
	t.height = [places]int32{}
	t.count(d1[:])
	t.count(d2[:])
	for i := range t.numbers {
		t.count(t.numbers[i].digits[:t.numbers[i].length])
	}
	sum := int32(0)
	for i, h := range t.height {
		t.bottom[i] = sum
		sum += h
	}
	t.points = sized(t.points, int(sum))
	t.height = [places]int32{}
	t.put(d1[:], base.own)
	t.put(d2[:], base.turned)
	for i := range t.numbers {
		n := &t.numbers[i]
		t.put(n.digits[:n.length], n.row)
	}
}

func (t *terms) count(ds []int16) {
	for place, digit := range ds {
		if digit != 0 {
			t.height[place]++
		}
	}
}

func (t *terms) put(ds []int16, m []affine) {
	for place, digit := range ds {
		if digit != 0 {
			t.points[t.bottom[place]+t.height[place]] = multiple(m, digit)
			t.height[place]++
		}
	}
}

// isInfinity reports whether the points of all places add up to infinity.
func (t *terms) isInfinity() bool {
	var sum point
	for i := places - 1; i >= 0; i-- {
		sum.double(&sum)
		for _, p := range t.place(i) {
			sum.add(&p)
		}
	}
	return sum.z.isZero()
}

func (t *terms) place(i int) []affine { return t.points[t.bottom[i] : t.bottom[i]+t.height[i]] }

// sized is a slice of n elements of which nothing is known, the same if it is long enough.
func sized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/4)
	}
	return s[:n]
}
