package main

import (
	"strings"
	"testing"
)

func TestTheHealthCheckFollowsTheRelay(t *testing.T) {
	for listen, want := range map[string]string{
		"":                "http://127.0.0.1:7335",
		"nonsense":        "http://127.0.0.1:7335",
		"127.0.0.1:0":     "http://127.0.0.1:7335",
		"127.0.0.1:9000":  "http://127.0.0.1:9000",
		"0.0.0.0:9000":    "http://127.0.0.1:9000",
		":9000":           "http://127.0.0.1:9000",
		"[::]:9000":       "http://[::1]:9000",
		"[fd00::1]:9000":  "http://[fd00::1]:9000",
		"graspd.lan:9000": "http://graspd.lan:9000",
	} {
		env := environment{"GRASPD_ADMIN_LISTEN": listen}
		if got := adminAt(env); got != want {
			t.Errorf("%q: %s, want %s", listen, got, want)
		}
	}
	well := adminOf(t, statusDocument, `{"problems":[]}`)
	env := map[string]string{"GRASPD_ADMIN_LISTEN": strings.TrimPrefix(well, "http://")}
	if code, _, errs := call(t, "", env, "status", "--health"); code != exitOK {
		t.Errorf("exit code %d, %s", code, errs)
	}
	if code, _, _ := call(t, "", env, "status", "--health", "--admin", "127.0.0.1:1"); code != exitFail {
		t.Errorf("with the flag: exit code %d", code)
	}
}
