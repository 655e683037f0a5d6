package main

import (
	"slices"
	"strings"
	"testing"
)

func TestUnknownVariables(t *testing.T) {
	for _, tt := range []struct {
		name, value, want string
	}{
		{"GRASPD_DOMIAN", "x", "there is no variable GRASPD_DOMIAN; did you mean GRASPD_DOMAIN?"},
		{"GRASPD_SYNC_MAX_TAG", "", "there is no variable GRASPD_SYNC_MAX_TAG; did you mean GRASPD_SYNC_MAX_TAGS?"},
		{"GRASPD_FROBNICATE", "x", "there is no variable GRASPD_FROBNICATE (docs/FLAGS.md lists the flags: --log-level is GRASPD_LOG_LEVEL); unset it"},
		{"GRASPD_", "x", "there is no variable GRASPD_ (docs/FLAGS.md lists the flags: --log-level is GRASPD_LOG_LEVEL); unset it"},
		{"GRASPD_REPAIR", "true", ""}, // of another command
		{"GRASPD_JSON", "true", ""},
		{"OTHERS_DOMIAN", "x", ""},
		// What Kubernetes tells of a service that is called graspd.
		{"GRASPD_SERVICE_HOST", "10.0.0.1", ""}, {"GRASPD_SERVICE_PORT", "80", ""}, {"GRASPD_SERVICE_PORT_HTTP", "80", ""},
		{"GRASPD_PORT", "tcp://10.0.0.1:80", ""}, {"GRASPD_PORT_80_TCP_ADDR", "10.0.0.1", ""},
		{"GRASPD_PORT", "80", "there is no variable GRASPD_PORT (docs/FLAGS.md lists the flags: --log-level is GRASPD_LOG_LEVEL); unset it"},
		{"GRASPD_PORT_X", "80", "there is no variable GRASPD_PORT_X (docs/FLAGS.md lists the flags: --log-level is GRASPD_LOG_LEVEL); unset it"},
	} {
		var want []string
		if tt.want != "" {
			want = []string{tt.want}
		}
		if got := environmentOf([]string{"PATH=/bin", tt.name + "=" + tt.value}).unknown(); !slices.Equal(got, want) {
			t.Errorf("%s=%s: %q, want %q", tt.name, tt.value, got, want)
		}
	}
}

// A slip in a variable ends every command that reads settings, beside whatever else is wrong; telling the version and help go on.
func TestAnUnknownVariableIsAnError(t *testing.T) {
	env := map[string]string{"GRASPD_DOMIAN": "git.example.org"}
	for _, c := range commands() {
		code, out, errs := call(t, "", env, c.name, "--nonsense")
		if c.name == "version" {
			continue
		}
		if code != exitUsage || out != "" || !strings.Contains(errs, "did you mean GRASPD_DOMAIN?") || !strings.Contains(errs, "no flag --nonsense") {
			t.Errorf("%s: exit code %d, said %q and %q", c.name, code, out, errs)
		}
	}
	if code, _, errs := call(t, "", env, "version"); code != exitOK || errs != "" {
		t.Errorf("version: exit code %d, said %q", code, errs)
	}
}

func TestEnvironmentOf(t *testing.T) {
	e := environmentOf([]string{"A=b=c", "EMPTY=", "ODD"})
	if len(e) != 3 || e["A"] != "b=c" {
		t.Errorf("%q", e)
	}
	if v, ok := e["EMPTY"]; !ok || v != "" {
		t.Errorf("%q", e)
	}
}
