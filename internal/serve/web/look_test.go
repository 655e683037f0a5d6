package web_test

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/serve/web"
)

// TestColoursCanBeRead: a colour that few could read is refused, with one that would do.
func TestColoursCanBeRead(t *testing.T) {
	for _, tt := range []struct{ light, dark, has, hasDark, wrong string }{
		{"", "", "--accent: #6b3fa0;", "--accent: #bd9cea;", ""},
		{"#05a", "", "--accent: #0055aa;", "--accent: #558ec6;", ""},
		{"#0055AA", "#9cf", "--accent: #0055aa;", "--accent: #99ccff;", ""},
		{"", "#9cf", "--accent: #6b3fa0;", "--accent: #99ccff;", ""},
		{"#fc0", "", "", "", "#fc0 cannot be read on light pages: its contrast is 1."},
		{"#fff", "", "", "", "#fff cannot be read on light pages"},
		{"#767676", "", "", "", "cannot be read on light pages: its contrast is 4.0 where 4.5 is needed; #6d6d6d would do"}, // which is enough on white alone
		{"#05a", "#333", "", "", "#333 cannot be read on dark pages"},
		{"blue", "", "", "", `"blue" is no colour: want #rgb or #rrggbb`},
		{"0055aa", "", "", "", "is no colour"},
		{"#0055a", "", "", "", "is no colour"},
		{"#05aa", "", "", "", "is no colour"},
		{"#+055aa", "", "", "", "is no colour"},
		{"#05é", "", "", "", "is no colour"},
		{"#000;}*{", "", "", "", "is no colour"},
		{"#05a", "red", "", "", "is no colour"},
	} {
		l, err := web.ParseLook(tt.light, tt.dark)
		if tt.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), tt.wrong) || l != (web.Look{}) {
				t.Errorf("%s, %s: %v", tt.light, tt.dark, err)
				continue
			}
			if _, would, found := strings.Cut(err.Error(), "needed; "); found {
				fit := strings.TrimSuffix(would, " would do")
				light, dark := fit, ""
				if tt.dark != "" {
					light, dark = "", fit
				}
				if _, err := web.ParseLook(light, dark); err != nil {
					t.Errorf("%s is said to do: %v", fit, err)
				}
			}
			continue
		}
		style := string(l.Style())
		if err != nil || strings.Count(style, tt.has) != 1 || strings.Count(style, tt.hasDark) != 1 || strings.Count(style, "--done: #6b3fa0;") != 1 {
			t.Errorf("%s, %s: %v %v", tt.light, tt.dark, l, err)
		}
	}
}

// TestTheStyleIsAllowed: the policy of each page lets its style be used, whatever the colours are.
func TestTheStyleIsAllowed(t *testing.T) {
	own, err := web.ParseLook("#05a", "#9cf")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []web.Look{{}, own} {
		sum := sha256.Sum256([]byte(l.Style()))
		w := httptest.NewRecorder()
		l.Answer(w, httptest.NewRequest("GET", "/", nil), 200, web.HTML, nil)
		if p := w.Header().Get("Content-Security-Policy"); !strings.Contains(p, "style-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"';") {
			t.Errorf("%v: %s", l, p)
		}
	}
	if icon := string(own.Icon()); !strings.Contains(icon, "%230055aa") || strings.Contains(icon, "6b3fa0") || !strings.Contains(string(web.Look{}.Icon()), "%236b3fa0") {
		t.Errorf("%s", icon)
	}
}

// TestTheStyleHasTheseColours: what is computed with stands in the style.
func TestTheStyleHasTheseColours(t *testing.T) {
	style := string(web.Look{}.Style())
	for _, theme := range web.Grounds() {
		for name, c := range theme {
			if !strings.Contains(style, name+": "+c+";") {
				t.Errorf("%s is not %s in the style", name, c)
			}
		}
	}
}
