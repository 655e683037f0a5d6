package nip11

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/graspd/graspd/internal/base/safetext"
)

const (
	maxText  = 1024    // bytes of one text that Parse keeps
	maxList  = 256     // entries of one list that Parse reads
	maxCount = 1 << 53 // the largest number below which a float64 is exact; larger numbers are clamped
)

// object is a JSON object whose fields are read one by one, so that a bad field spoils no other. A nil object has no fields.
type object map[string]json.RawMessage

func (o object) object(key string) object {
	var inner object
	if json.Unmarshal(o[key], &inner) != nil {
		return nil
	}
	return inner
}

func (o object) list(key string) []json.RawMessage {
	var raws []json.RawMessage
	if json.Unmarshal(o[key], &raws) != nil {
		return nil
	}
	return raws[:min(len(raws), maxList)]
}

func (o object) text(key string) string { return text(o[key]) }

func (o object) texts(key string) []string {
	var all []string
	for _, raw := range o.list(key) {
		if s := text(raw); s != "" {
			all = append(all, s)
		}
	}
	return all
}

// count reads a number of things or bytes. It returns 0 for a negative number, and where there is no number.
func (o object) count(key string) int {
	n, _ := number(o[key])
	return int(min(max(n, 0), math.MaxInt32))
}

// seconds reads a span of time as count reads a number, but with up to 53 bits.
func (o object) seconds(key string) int64 {
	n, _ := number(o[key])
	return max(n, 0)
}

// flag reads a boolean, which may be written as a string or as a number.
func (o object) flag(key string) bool {
	var b bool
	if json.Unmarshal(o[key], &b) == nil {
		return b
	}
	if b, err := strconv.ParseBool(text(o[key])); err == nil {
		return b
	}
	n, _ := number(o[key])
	return n != 0
}

// text reads a string and copies at most maxText bytes of it, and only whole characters.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	s, _ = safetext.Cut(s, maxText)
	return s
}

// number reads an integer, the whole part of a float, or a string that holds either, perhaps as "NIP-77". It clamps numbers beyond 2^53
// to 2^53.
func number(raw json.RawMessage) (int64, bool) {
	s := string(raw)
	if strings.HasPrefix(s, `"`) {
		s = strings.TrimSpace(strings.ToLower(text(raw)))
		if n, ok := strings.CutPrefix(s, "nip"); ok {
			s = strings.TrimLeft(n, "- ")
		}
		if s == "" || strings.Trim(s, "0123456789.") != "" {
			return 0, false
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	if math.IsNaN(f) || (err != nil && !math.IsInf(f, 0)) {
		return 0, false
	}
	return int64(min(max(f, -maxCount), maxCount)), true
}
