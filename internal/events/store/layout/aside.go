package layout

import "encoding/binary"

// An event that is put aside is out of sight: it is not stored, nothing serves it, and its id is remembered as refused. It stands under the
// number of a case, which means something only to whoever put it aside, and under the number of its entry in the log.

// AsideKey returns the key of an entry that is put aside under a case.
func AsideKey(of uint64, s Seq) []byte {
	return binary.BigEndian.AppendUint64(numberKey(TableAside, of), uint64(s))
}

// ParseAsideKey reads the case and the entry's number.
func ParseAsideKey(k []byte) (of uint64, s Seq, ok bool) {
	if len(k) != 1+8+8 {
		return 0, 0, false
	}
	return binary.BigEndian.Uint64(k[1:]), Seq(binary.BigEndian.Uint64(k[9:])), true
}
