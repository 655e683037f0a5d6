package changed_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/operate/changed"
	"github.com/graspd/graspd/internal/protocol/nip11"
)

// TestWhoeverSpokeLastIsHeard: a change holds while the settings say what they said then.
func TestWhoeverSpokeLastIsHeard(t *testing.T) {
	name := changed.Change{Setting: changed.Name, Value: "Harbor", Instead: "graspd"}
	icon := changed.Change{Setting: changed.Icon, Value: "https://example.org/i.png"}
	other := changed.Change{Setting: "domain", Value: "evil.example"}
	all := []changed.Change{name, icon, other}
	for _, tt := range []struct {
		settings, want nip11.Document
		hold, over     []changed.Change
	}{
		{nip11.Document{Name: "graspd", Contact: "c"}, nip11.Document{Name: "Harbor", Contact: "c", Icon: icon.Value}, []changed.Change{name, icon}, []changed.Change{other}},
		{nip11.Document{Name: "Quay"}, nip11.Document{Name: "Quay", Icon: icon.Value}, []changed.Change{icon}, []changed.Change{name, other}},
		{nip11.Document{Name: "Harbor", Icon: "https://example.org/own.png"}, nip11.Document{Name: "Harbor", Icon: "https://example.org/own.png"}, nil, all},
	} {
		got, hold, over := changed.Over(tt.settings, all)
		if !reflect.DeepEqual(got, tt.want) || !reflect.DeepEqual(hold, tt.hold) || !reflect.DeepEqual(over, tt.over) {
			t.Errorf("%+v: %+v\nhold %v\nover %v", tt.settings, got, hold, over)
		}
	}
}

// TestOneChangeOfASetting: another takes its place, and what is as the settings say is none.
func TestOneChangeOfASetting(t *testing.T) {
	make := func(setting, value, instead string) changed.Change {
		return changed.Change{Setting: setting, Value: value, Instead: instead}
	}
	name, text := make(changed.Name, "Harbor", "graspd"), make(changed.Description, "d", "")
	all := changed.With(changed.With(nil, name), text)
	for _, tt := range []struct {
		c    changed.Change
		want []changed.Change
	}{
		{make(changed.Name, "Quay", "graspd"), []changed.Change{text, make(changed.Name, "Quay", "graspd")}},
		{make(changed.Name, "", "graspd"), []changed.Change{text}},
		{make(changed.Name, "graspd", "graspd"), []changed.Change{text}},
		{make(changed.Description, "", ""), []changed.Change{name}},
	} {
		if got := changed.With(all, tt.c); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%v: %v", tt.c, got)
		}
	}
}

// TestValuesFit: what would break the page, or is more than others read, is refused.
func TestValuesFit(t *testing.T) {
	for _, tt := range []struct {
		setting, value string
		ok             bool
	}{
		{changed.Name, "Harbor Café", true},
		{changed.Name, "", true},
		{changed.Name, "   ", false},
		{changed.Name, "two\nlines", false},
		{changed.Name, "bell\a", false},
		{changed.Name, strings.Repeat("x", changed.MaxName), true},
		{changed.Name, strings.Repeat("x", changed.MaxName+1), false},
		{changed.Description, "one\n\ttwo", true},
		{changed.Description, "\x1b[2J", false},
		{changed.Description, " \n", false},
		{changed.Description, strings.Repeat("x", changed.MaxDescription), true},
		{changed.Description, strings.Repeat("x", changed.MaxDescription+1), false},
		{changed.Icon, "https://example.org/icon.png", true},
		{changed.Icon, "", true},
		{changed.Icon, "javascript:alert(1)", false},
		{changed.Icon, "https:///x", false},
		{changed.Icon, "https://example.org/" + strings.Repeat("x", nip11.MaxURL), false},
		{"domain", "example.org", false},
	} {
		if err := changed.Fit(tt.setting, tt.value); (err == nil) != tt.ok {
			t.Errorf("%s %.40q: %v", tt.setting, tt.value, err)
		}
	}
}

// TestChangesAreRead as they were written.
func TestChangesAreRead(t *testing.T) {
	want := changed.Change{Setting: changed.Name, Value: "Harbor", Instead: "graspd", By: "npub1", At: 7}
	if got, err := changed.Decode(changed.Encode(want)); err != nil || got != want {
		t.Errorf("%+v %v", got, err)
	}
	if _, err := changed.Decode([]byte("x")); err == nil {
		t.Error("what is no change is read")
	}
}
