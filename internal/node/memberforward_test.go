package node

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestWhichRequestsArePushes: what decides is the path and the query below the base; nothing of a body is read for that.
func TestWhichRequestsArePushes(t *testing.T) {
	takes := pushes("/git/").Takes
	for path, want := range map[string]bool{
		"/git/npub1x/tool.git/git-receive-pack": true, "/git/prs/npub1x/tool.git/git-receive-pack": true, "/git/npub1x/tool.git/info/refs?service=git-receive-pack": true,
		"/git/npub1x/tool.git/info/refs?service=git-upload-pack": false, "/git/npub1x/tool.git/info/refs": false, "/git/npub1x/tool.git/git-upload-pack": false,
		"/npub1x/tool.git/git-receive-pack": false, "/git/": false,
	} {
		if got := takes(httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	body := strings.NewReader("service=git-receive-pack")
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/git/npub1x/tool.git/info/refs", body)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if takes(r) || body.Len() != 24 {
		t.Errorf("of the body %d bytes are left", body.Len())
	}
}
