package safetext

import "testing"

func TestEscapeBidi(t *testing.T) {
	for in, want := range map[string]string{
		"": "",
		"plain, مرحبا, שלום, 👩‍💻": "plain, مرحبا, שלום, 👩‍💻",
		"a\u202eb\u202c": `a\u202eb\u202c`,
		"\u202a\u202b\u202d\u2066\u2067\u2068\u2069":       `\u202a\u202b\u202d\u2066\u2067\u2068\u2069`,
		"\u200e\u200f\u061c":                               `\u200e\u200f\u061c`,
		"\u2029\u202f\u2065\u206a\u200d\u2010\u061b\u061d": "\u2029\u202f\u2065\u206a\u200d\u2010\u061b\u061d",
	} {
		if got := EscapeBidi(in); got != want {
			t.Errorf("%+q is %+q, want %+q", in, got, want)
		}
	}
}
