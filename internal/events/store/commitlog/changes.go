package commitlog

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// Changes is what a commit changes.
type Changes struct {
	Keys []Change // by key, each key once
	Told []string // the names of rows that readers hear of, in order
}

// Change is what a commit does to one key. A key that goes has no value.
type Change struct {
	Key, Value []byte
	Gone       bool
}

// The list of changes is the number of the names that are told, then each name; and then each key, with its value behind it unless the key
// goes. What has a length has it in four bytes before it, big endian. The highest bit of a key's length says that the key goes. So each list
// of changes has one form, and each form one list.
const gone = 1 << 31

func (c Changes) append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(c.Told)))
	for _, name := range c.Told {
		dst = append(binary.BigEndian.AppendUint32(dst, uint32(len(name))), name...)
	}
	for _, k := range c.Keys {
		if k.Gone {
			dst = append(binary.BigEndian.AppendUint32(dst, uint32(len(k.Key))|gone), k.Key...)
			continue
		}
		dst = append(binary.BigEndian.AppendUint32(dst, uint32(len(k.Key))), k.Key...)
		dst = append(binary.BigEndian.AppendUint32(dst, uint32(len(k.Value))), k.Value...)
	}
	return dst
}

// parseChanges reads a list. What it returns is a part of b, but for the names.
func parseChanges(b []byte) (c Changes, err error) {
	r := reader{rest: b}
	for range r.number() {
		if r.failed {
			break
		}
		c.Told = append(c.Told, string(r.bytes(r.number())))
	}
	for len(r.rest) > 0 && !r.failed {
		n := r.number()
		k := Change{Key: r.bytes(n &^ gone), Gone: n&gone != 0}
		if !k.Gone {
			k.Value = r.bytes(r.number())
		}
		if last := len(c.Keys) - 1; len(k.Key) == 0 || last == MaxKeys-1 || last >= 0 && bytes.Compare(c.Keys[last].Key, k.Key) >= 0 {
			r.failed = true
		}
		c.Keys = append(c.Keys, k)
	}
	if r.failed {
		return Changes{}, fmt.Errorf("%w: its list of changes, %d bytes before the end", ErrDamaged, len(r.rest))
	}
	return c, nil
}

// reader takes one thing after the other from the beginning of what is left. Once it lacks something it has failed, and gives nothing.
type reader struct {
	rest   []byte
	failed bool
}

func (r *reader) number() uint32 {
	b := r.bytes(4)
	if r.failed {
		return 0
	}
	return binary.BigEndian.Uint32(b)
}

func (r *reader) bytes(n uint32) []byte {
	if r.failed = r.failed || uint64(n) > uint64(len(r.rest)); r.failed {
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}
