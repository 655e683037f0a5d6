package status

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// Moment is a time, to the second in JSON; null where there is none, or one that RFC 3339 cannot write.
type Moment struct{ time.Time }

// Unix returns the Moment of a unix time.
func Unix(seconds int64) Moment { return Moment{time.Unix(seconds, 0)} }

// MarshalJSON implements json.Marshaler.
func (m Moment) MarshalJSON() ([]byte, error) {
	t := m.UTC().Truncate(time.Second)
	if t.IsZero() || t.Year() < 0 || t.Year() > 9999 {
		return []byte("null"), nil
	}
	return t.MarshalJSON()
}

// Seconds is a duration, in whole seconds in JSON.
type Seconds struct{ time.Duration }

// MarshalJSON implements json.Marshaler.
func (s Seconds) MarshalJSON() ([]byte, error) {
	return strconv.AppendInt(nil, int64(s.Round(time.Second)/time.Second), 10), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *Seconds) UnmarshalJSON(b []byte) error {
	var n int64
	err := json.Unmarshal(b, &n)
	s.Duration = time.Duration(n) * time.Second
	return err
}

// Text is a text that a stranger may have written; null in JSON when it is empty.
type Text string

// MarshalJSON implements json.Marshaler.
func (t Text) MarshalJSON() ([]byte, error) {
	if t == "" {
		return []byte("null"), nil
	}
	return json.Marshal(strings.ToValidUTF8(string(t), "\uFFFD"))
}
