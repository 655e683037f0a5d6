package githttp

import (
	"encoding/json"
	"net/http"
	"strings"
)

// lfs is where git-lfs looks for its API, below a repository. No object of Git LFS is kept here.
const lfs = "/info/lfs"

const (
	noLFS   = "objects of Git LFS are not kept here: keep them on another server (git config lfs.url), or put the files themselves into git (git lfs migrate export)"
	lfsType = "application/vnd.git-lfs+json" // the only answers that git-lfs reads
	lfsDocs = "https://github.com/git-lfs/git-lfs/blob/main/docs/man/git-lfs-config.adoc"
)

func isLFS(rest string) bool { return rest == lfs || strings.HasPrefix(rest, lfs+"/") }

// failLFS answers git-lfs with a text.
func failLFS(w http.ResponseWriter, f *failure) {
	w.Header()["Content-Type"] = []string{lfsType}
	w.WriteHeader(f.status)
	_ = json.NewEncoder(w).Encode(struct { // a client that does not read has left
		Message string `json:"message"`
		Docs    string `json:"documentation_url"`
	}{f.text, lfsDocs})
}
