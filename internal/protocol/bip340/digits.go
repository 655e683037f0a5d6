package bip340

// digits are the signed digits of a number of 128 bits, the lowest first: the number is the sum of all digits[i] 2^i.
type digits [129]int16

// recode writes h in its non-adjacent form for windows of w bits: every digit is 0 or odd, and less than 2^(w-1) from 0. Between two
// digits that are not 0 stand at least w-1 zeros. recode returns the number of digits up to the last that is not 0.
func (d *digits) recode(h *half, w uint) int {
	*d = digits{}
	length, carry := 0, uint64(0)
	for i := uint(0); i < uint(len(d)); {
		if h.window(i, 1) == carry {
			i++
			continue
		}
		n := min(w, uint(len(d))-i)
		v := h.window(i, n) + carry
		carry = v >> (w - 1) & 1
		digit := int16(v) - int16(carry<<w)
		if h.negative {
			digit = -digit
		}
		d[i], length = digit, int(i)+1
		i += n
	}
	return length
}

// window returns n bits from the i-th on; bits beyond the number are 0.
func (h *half) window(i, n uint) uint64 {
	var v uint64
	switch {
	case i < 64:
		v = h.bits[0]>>i | h.bits[1]<<1<<(63-i)
	case i < 128:
		v = h.bits[1] >> (i - 64)
	}
	return v & (1<<n - 1)
}
