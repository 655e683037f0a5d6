// Package changed has the changes, over the public address (NIP-86), of what the relay says of itself. A change goes before its setting until
// the settings say something else than they did at the time of the change: whoever spoke last is heard.
package changed

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/graspd/graspd/internal/protocol/nip11"
)

// The settings that can be changed, by the names of their flags.
const (
	Name        = "name"
	Description = "description"
	Icon        = "icon"
)

// Bounds of the values, in bytes. nip11.CheckURL bounds Icon.
const (
	MaxName        = 200
	MaxDescription = 5000
)

// Row is the prefix of the names of the rows that keep changes; the name of the setting follows.
const Row = "changed/"

// Change is the change of one setting.
type Change struct {
	Setting string `json:"setting"` // Name, Description or Icon
	Value   string `json:"value"`
	Instead string `json:"instead"` // what the settings said at the time of the change
	By      string `json:"by"`      // npub
	At      int64  `json:"at"`      // unix time
}

// Fit fails with what is wrong with a value for a setting, and for any setting but the three. An empty value, which takes a change back, fits.
func Fit(setting, value string) error {
	switch setting {
	case Name:
		if len(value) > MaxName || strings.ContainsFunc(value, unicode.IsControl) || value != "" && strings.TrimSpace(value) == "" {
			return fmt.Errorf("want a name in one line, of %d bytes at most", MaxName)
		}
	case Description:
		control := func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t' }
		if len(value) > MaxDescription || strings.ContainsFunc(value, control) || value != "" && strings.TrimSpace(value) == "" {
			return fmt.Errorf("want a description of %d bytes at most", MaxDescription)
		}
	case Icon:
		return nip11.CheckURL(value)
	default:
		return fmt.Errorf("%s is not changed so", setting)
	}
	return nil
}

// Of returns where a document has the value of a setting; nil for any setting but the three.
func Of(d *nip11.Document, setting string) *string {
	switch setting {
	case Name:
		return &d.Name
	case Description:
		return &d.Description
	case Icon:
		return &d.Icon
	}
	return nil
}

// Over returns the document of the settings with the changes that hold. It also returns the changes that hold, and those that are over
// because the settings say something else by now.
func Over(d nip11.Document, all []Change) (out nip11.Document, hold, over []Change) {
	out = d
	for _, c := range all {
		at := Of(&out, c.Setting)
		switch {
		case at == nil || *Of(&d, c.Setting) != c.Instead:
			over = append(over, c)
		default:
			*at = c.Value
			hold = append(hold, c)
		}
	}
	return out, hold, over
}

// With returns all with c in place of the change of the same setting. A c that changes nothing only takes that one out.
func With(all []Change, c Change) []Change {
	var out []Change
	for _, x := range all {
		if x.Setting != c.Setting {
			out = append(out, x)
		}
	}
	if c.Value == "" || c.Value == c.Instead {
		return out
	}
	return append(out, c)
}

// Encode returns the row of a change.
func Encode(c Change) []byte {
	b, err := json.Marshal(c)
	if err != nil {
		panic(err) // texts and a number cannot fail
	}
	return b
}

// Decode reads what Encode has written.
func Decode(b []byte) (c Change, err error) {
	if err := json.Unmarshal(b, &c); err != nil {
		return c, fmt.Errorf("a setting that was changed: %w", err)
	}
	return c, nil
}
