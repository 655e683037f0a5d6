// Package changed is what was changed of what the relay says of itself over its public address (NIP-86), beside the settings. A change
// holds until the setting that it stands before says something else than it said then: whoever spoke last is heard.
package changed

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/graspd/graspd/internal/nip11"
)

// The settings that can be changed, by their flags.
const (
	Name        = "name"
	Description = "description"
	Icon        = "icon"
)

// Bounds of what they are changed to, in bytes. That of Icon is that of nip11.CheckURL.
const (
	MaxName        = 200
	MaxDescription = 5000
)

// Row is the prefix of the rows in which changes are kept; the name of the setting follows.
const Row = "changed/"

// Change is one setting that was changed.
type Change struct {
	Setting string `json:"setting"` // Name, Description or Icon
	Value   string `json:"value"`
	Instead string `json:"instead"` // what the settings said when it was changed
	By      string `json:"by"`      // npub
	At      int64  `json:"at"`      // unix time
}

// Fit says what is wrong with a value for a setting; nil where nothing is. An empty value takes a change back.
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

// Of is where a document has the value of a setting; nil of others than the above.
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

// Over is what the settings say with the changes that hold beside it, which of them do, and which are over as the settings say
// something else by now.
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

// With is all with one more, which takes the place of one of the same setting. One that changes nothing takes that away alone.
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

// Encode is the value of the row of a change.
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
