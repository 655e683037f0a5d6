package main

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
)

func TestUnknownFlag(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want []string // lines, without the program's name
	}{
		{[]string{"--domian", "git.example.com"}, []string{"there is no flag --domian; did you mean --domain?"}},
		{[]string{"-lisen=127.0.0.1:0"}, []string{"there is no flag --lisen; did you mean --listen?"}},
		{[]string{"--flavour", "--domian", "x", "--quiet"}, []string{
			"there is no flag --flavour (see graspd serve --help)", "there is no flag --domian; did you mean --domain?"}},
		{[]string{"--zz"}, []string{"there is no flag --zz (see graspd serve --help)"}},
		{[]string{"---domain", "x", "--=y"}, []string{"bad flag syntax: ---domain (see graspd serve --help)", "bad flag syntax: --=y (see graspd serve --help)",
			`serve takes no argument "x"; a switch is turned off as --sync=false`}},
		{[]string{"--nonsense=1", "x", "--", "--domain"}, []string{"there is no flag --nonsense (see graspd serve --help)",
			`serve takes no argument "x"; a switch is turned off as --sync=false`, `serve takes no argument "--domain"; a switch is turned off as --sync=false`}},
		{[]string{"-x", "-domian=x"}, []string{"there is no flag --x (see graspd serve --help)", "there is no flag --domian; did you mean --domain?"}},
		{[]string{"--domain"}, []string{"flag needs an argument: --domain (see graspd serve --help)"}},
	} {
		code, _, errs := call(t, "", nil, append([]string{"serve"}, tt.args...)...)
		var got []string
		for line := range strings.Lines(errs) {
			got = append(got, strings.TrimPrefix(strings.TrimSpace(line), "graspd: "))
		}
		if code != exitUsage || !slices.Equal(got, tt.want) {
			t.Errorf("%q: exit code %d, said %q, want %q", tt.args, code, got, tt.want)
		}
	}
}

func TestSlips(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "ab", 2}, {"listen", "listen", 0}, {"lisen", "listen", 1}, {"listten", "listen", 1},
		{"domian", "domain", 1}, {"domaim", "domain", 1}, {"doamni", "domain", 2}, {"abc", "xyz", 3}, {"abc", "", 3},
	} {
		if got := editDistance(tt.a, tt.b); got != tt.want {
			t.Errorf("%q and %q: %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestUnknownWordsAreLikeOthers(t *testing.T) {
	names := []string{"d", "git", "gits", "listen"}
	for word, want := range map[string]string{"gut": "git", "listens": "listen", "x": "", "": "", "z": "", "gist": "git", "frobnicate": ""} {
		if got, ok := nearest(word, names); got != want && ok || ok != (want != "") {
			t.Errorf("%q: %q, %v, want %q", word, got, ok, want)
		}
	}
}

// A proxy's address may be written in the form that IPv4 has inside IPv6; a client's is compared without it.
func TestTrustedProxies(t *testing.T) {
	var c Config
	rows := c.serveSettings()
	_, problems, err := parse("serve", rows, []string{"--trusted-proxies", "::ffff:10.0.0.7/104, ::ffff:192.0.2.1,2001:db8::/32,127.0.0.1,::/0"}, noEnv)
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	var got []string
	for _, p := range c.TrustedProxies {
		got = append(got, p.String())
	}
	want := []string{"10.0.0.0/8", "192.0.2.1/32", "2001:db8::/32", "127.0.0.1/32", "::/0"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if !c.TrustedProxies[0].Contains(netip.MustParseAddr("10.9.9.9")) {
		t.Error("an address of the first is not in it")
	}
}
