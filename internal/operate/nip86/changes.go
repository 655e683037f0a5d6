package nip86

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/graspd/graspd/internal/protocol/nip11"
)

// The settings that can be changed, by the names of their flags.
const (
	SettingName        = "name"
	SettingDescription = "description"
	SettingIcon        = "icon"
)

// Bounds of the values, in bytes. nip11.CheckURL bounds icons.
const (
	maxName        = 200
	maxDescription = 5000
)

// ChangeRow is the prefix of the names of the rows that keep changes; the name of the setting follows.
const ChangeRow = "changed/"

// Change is the change, over the public address, of one setting of what the relay says of itself. A change goes before its setting until the
// settings say something else than they did at the time of the change: whoever spoke last is heard.
type Change struct {
	Setting string `json:"setting"` // SettingName, SettingDescription or SettingIcon
	Value   string `json:"value"`
	Instead string `json:"instead"` // what the settings said at the time of the change
	By      string `json:"by"`      // npub
	At      int64  `json:"at"`      // unix time
}

// CheckValue fails with what is wrong with a value for a setting, and for any setting but the three. An empty value, which takes a change back, fits.
func CheckValue(setting, value string) error {
	switch setting {
	case SettingName:
		if len(value) > maxName || strings.ContainsFunc(value, unicode.IsControl) || value != "" && strings.TrimSpace(value) == "" {
			return fmt.Errorf("want a name in one line, of %d bytes at most", maxName)
		}
	case SettingDescription:
		control := func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t' }
		if len(value) > maxDescription || strings.ContainsFunc(value, control) || value != "" && strings.TrimSpace(value) == "" {
			return fmt.Errorf("want a description of %d bytes at most", maxDescription)
		}
	case SettingIcon:
		return nip11.CheckURL(value)
	default:
		return fmt.Errorf("%s is not changed so", setting)
	}
	return nil
}

// SettingOf returns where a document has the value of a setting; nil for any setting but the three.
func SettingOf(d *nip11.Document, setting string) *string {
	switch setting {
	case SettingName:
		return &d.Name
	case SettingDescription:
		return &d.Description
	case SettingIcon:
		return &d.Icon
	}
	return nil
}

// Apply returns the document of the settings with the changes that hold. It also returns the changes that hold, and those that are over
// because the settings say something else by now.
func Apply(d nip11.Document, all []Change) (out nip11.Document, hold, over []Change) {
	out = d
	for _, c := range all {
		at := SettingOf(&out, c.Setting)
		switch {
		case at == nil || *SettingOf(&d, c.Setting) != c.Instead:
			over = append(over, c)
		default:
			*at = c.Value
			hold = append(hold, c)
		}
	}
	return out, hold, over
}

// WithChange returns all with c in place of the change of the same setting. A c that changes nothing only takes that one out.
func WithChange(all []Change, c Change) []Change {
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

// EncodeChange returns the row of a change.
func EncodeChange(c Change) []byte {
	b, err := json.Marshal(c)
	if err != nil {
		panic(err) // texts and a number cannot fail
	}
	return b
}

// DecodeChange reads what EncodeChange has written.
func DecodeChange(b []byte) (c Change, err error) {
	if err := json.Unmarshal(b, &c); err != nil {
		return c, fmt.Errorf("a setting that was changed: %w", err)
	}
	return c, nil
}
