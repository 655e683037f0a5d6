package nip86

import (
	"reflect"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nip11"
)

// TestWhoeverSpokeLastIsHeard: a change holds while the settings say what they said then.
func TestWhoeverSpokeLastIsHeard(t *testing.T) {
	name := Change{Setting: SettingName, Value: "Harbor", Instead: "graspd"}
	icon := Change{Setting: SettingIcon, Value: "https://example.org/i.png"}
	other := Change{Setting: "domain", Value: "evil.example"}
	all := []Change{name, icon, other}
	for _, tt := range []struct {
		settings, want nip11.Document
		hold, over     []Change
	}{
		{nip11.Document{Name: "graspd", Contact: "c"}, nip11.Document{Name: "Harbor", Contact: "c", Icon: icon.Value}, []Change{name, icon}, []Change{other}},
		{nip11.Document{Name: "Quay"}, nip11.Document{Name: "Quay", Icon: icon.Value}, []Change{icon}, []Change{name, other}},
		{nip11.Document{Name: "Harbor", Icon: "https://example.org/own.png"}, nip11.Document{Name: "Harbor", Icon: "https://example.org/own.png"}, nil, all},
	} {
		got, hold, over := Apply(tt.settings, all)
		if !reflect.DeepEqual(got, tt.want) || !reflect.DeepEqual(hold, tt.hold) || !reflect.DeepEqual(over, tt.over) {
			t.Errorf("%+v: %+v\nhold %v\nover %v", tt.settings, got, hold, over)
		}
	}
}

// TestOneChangeOfASetting: another takes its place, and what is as the settings say is none.
func TestOneChangeOfASetting(t *testing.T) {
	make := func(setting, value, instead string) Change {
		return Change{Setting: setting, Value: value, Instead: instead}
	}
	name, text := make(SettingName, "Harbor", "graspd"), make(SettingDescription, "d", "")
	all := WithChange(WithChange(nil, name), text)
	for _, tt := range []struct {
		c    Change
		want []Change
	}{
		{make(SettingName, "Quay", "graspd"), []Change{text, make(SettingName, "Quay", "graspd")}},
		{make(SettingName, "", "graspd"), []Change{text}},
		{make(SettingName, "graspd", "graspd"), []Change{text}},
		{make(SettingDescription, "", ""), []Change{name}},
	} {
		if got := WithChange(all, tt.c); !reflect.DeepEqual(got, tt.want) {
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
		{SettingName, "Harbor Café", true},
		{SettingName, "", true},
		{SettingName, "   ", false},
		{SettingName, "two\nlines", false},
		{SettingName, "bell\a", false},
		{SettingName, strings.Repeat("x", maxName), true},
		{SettingName, strings.Repeat("x", maxName+1), false},
		{SettingDescription, "one\n\ttwo", true},
		{SettingDescription, "\x1b[2J", false},
		{SettingDescription, " \n", false},
		{SettingDescription, strings.Repeat("x", maxDescription), true},
		{SettingDescription, strings.Repeat("x", maxDescription+1), false},
		{SettingIcon, "https://example.org/icon.png", true},
		{SettingIcon, "", true},
		{SettingIcon, "javascript:alert(1)", false},
		{SettingIcon, "https:///x", false},
		{SettingIcon, "https://example.org/" + strings.Repeat("x", nip11.MaxURL), false},
		{"domain", "example.org", false},
	} {
		if err := CheckValue(tt.setting, tt.value); (err == nil) != tt.ok {
			t.Errorf("%s %.40q: %v", tt.setting, tt.value, err)
		}
	}
}

// TestChangesAreRead as they were written.
func TestChangesAreRead(t *testing.T) {
	want := Change{Setting: SettingName, Value: "Harbor", Instead: "graspd", By: "npub1", At: 7}
	if got, err := DecodeChange(EncodeChange(want)); err != nil || got != want {
		t.Errorf("%+v %v", got, err)
	}
	if _, err := DecodeChange([]byte("x")); err == nil {
		t.Error("what is no change is read")
	}
}
