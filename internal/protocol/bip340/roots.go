package bip340

// The exponents below have long runs of ones in binary. Runs are made by doubling and joining shorter runs.

// squares sets z to x^(2^n).
func (z *element) squares(x *element, n int) {
	*z = *x
	for range n {
		z.square(z)
	}
}

// runs returns x to the powers that are 2, 22 and 223 ones in binary; both p - 2 and (p + 1) / 4 begin with 223 ones.
func runs(x *element) (x2, x22, x223 element) {
	join := func(z, high, low *element, n int) { // appends the n ones of low
		var t element
		t.squares(high, n)
		z.mul(&t, low)
	}
	var x3, x6, x9, x11, x44, x88, x176, x220 element
	join(&x2, x, x, 1)
	join(&x3, &x2, x, 1)
	join(&x6, &x3, &x3, 3)
	join(&x9, &x6, &x3, 3)
	join(&x11, &x9, &x2, 2)
	join(&x22, &x11, &x11, 11)
	join(&x44, &x22, &x22, 22)
	join(&x88, &x44, &x44, 44)
	join(&x176, &x88, &x88, 88)
	join(&x220, &x176, &x44, 44)
	join(&x223, &x220, &x3, 3)
	return x2, x22, x223
}

// invert sets z to 1 / x, which is x^(p-2), and to 0 when x is 0. The exponent is 223 ones, a zero, 22 ones, 0000101101.
func (z *element) invert(x *element) {
	x2, x22, t := runs(x)
	t.squares(&t, 23)
	t.mul(&t, &x22)
	t.squares(&t, 5)
	t.mul(&t, x)
	t.squares(&t, 3)
	t.mul(&t, &x2)
	t.squares(&t, 2)
	z.mul(&t, x)
}

// root sets z to a square root of x, and reports whether x has one. As p is 3 modulo 4, the root is x^((p+1)/4); the exponent is 223
// ones, a zero, 22 ones, 00001100.
func (z *element) root(x *element) bool {
	x2, x22, t := runs(x)
	t.squares(&t, 23)
	t.mul(&t, &x22)
	t.squares(&t, 6)
	t.mul(&t, &x2)
	t.squares(&t, 2)
	var again element
	again.square(&t)
	ok := again.equal(x)
	*z = t
	return ok
}
