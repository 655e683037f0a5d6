// Package s3test has a server for tests that speaks as much of the protocol of S3 as an object store needs.
package s3test

import (
	"crypto/md5"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/graspd/graspd/internal/base/objects"
)

// Server speaks S3 over an object store: the bucket "name" in the region "eu-1", for the access key AKIDEXAMPLE.
type Server struct {
	Has     objects.Store
	Instead func(http.ResponseWriter, *http.Request) bool // answers in its place; nil never does
	Asked   atomic.Int64
}

// The keys that a client needs, and the region. The server looks at no signature.
const (
	Access = "AKIDEXAMPLE"
	Secret = "wJalrXUtnFEMI-K7MDENG-bPxRfiCYEXAMPLEKEY"
	Region = "eu-1"
)

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.Asked.Add(1)
	name, ok := strings.CutPrefix(r.URL.Path, "/name/")
	switch {
	case s.Instead != nil && s.Instead(w, r):
	case !ok || !strings.Contains(r.Header.Get("Authorization"), Access+"/") || !strings.Contains(r.Header.Get("Authorization"), "/"+Region+"/s3/"):
		Refuse(w, http.StatusForbidden, "AccessDenied")
	case r.Method == http.MethodPut:
		s.put(w, r, name)
	case r.URL.Query().Get("list-type") == "2":
		s.list(w, r)
	case r.Method == http.MethodGet:
		s.get(w, r, name)
	case r.Method == http.MethodHead:
		i, err := s.Has.Head(r.Context(), name)
		w.Header().Set("Content-Length", strconv.FormatInt(i.Size, 10))
		w.Header().Set("Last-Modified", "Fri, 27 Nov 2026 12:00:00 GMT")
		if err != nil {
			w.Header().Del("Content-Length")
			w.WriteHeader(http.StatusNotFound)
		}
	case r.Method == http.MethodDelete:
		s.Has.Delete(r.Context(), name)
		w.WriteHeader(http.StatusNoContent)
	}
}

// Refuse answers with an error of that code.
func Refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>it says %s</Message></Error>", code, code)
}

func (s *Server) put(w http.ResponseWriter, r *http.Request, name string) {
	b, err := io.ReadAll(r.Body)
	sum := md5.Sum(b)
	if err != nil || r.Header.Get("If-None-Match") != "*" || r.Header.Get("Content-Md5") != base64.StdEncoding.EncodeToString(sum[:]) {
		Refuse(w, http.StatusBadRequest, "InvalidRequest")
		return
	}
	if o, _ := s.Has.Put(r.Context(), name, strings.NewReader(string(b))); o == objects.Exists {
		Refuse(w, http.StatusPreconditionFailed, "PreconditionFailed")
		return
	}
	w.Header().Set("ETag", `"x"`)
}

func (s *Server) get(w http.ResponseWriter, r *http.Request, name string) {
	var from, to int64
	fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &from, &to)
	i, err := s.Has.Head(r.Context(), name)
	switch {
	case err != nil:
		Refuse(w, http.StatusNotFound, "NoSuchKey")
		return
	case from >= i.Size:
		Refuse(w, http.StatusRequestedRangeNotSatisfiable, "InvalidRange")
		return
	}
	b, _ := s.Has.Get(r.Context(), name, from, int(to-from+1))
	w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, from+int64(len(b))-1, i.Size))
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	w.Header().Set("Last-Modified", "Fri, 27 Nov 2026 12:00:00 GMT")
	w.WriteHeader(http.StatusPartialContent)
	w.Write(b)
}

func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	type content struct {
		Key, LastModified string
		Size              int64
	}
	var answer struct {
		XMLName               xml.Name `xml:"ListBucketResult"`
		IsTruncated           bool
		KeyCount              int
		Contents              []content
		NextContinuationToken string `xml:",omitempty"`
	}
	q := r.URL.Query()
	most, _ := strconv.Atoi(q.Get("max-keys"))
	after := q.Get("start-after")
	if t := q.Get("continuation-token"); t != "" {
		after = t
	}
	most = min(most, 3) // a store may give fewer than it is asked for
	page, _ := s.Has.List(r.Context(), q.Get("prefix"), after, most+1)
	if answer.IsTruncated = len(page) > most; answer.IsTruncated {
		page = page[:most]
		answer.NextContinuationToken = page[most-1].Name
	}
	for _, i := range page {
		answer.Contents = append(answer.Contents, content{i.Name, "2026-11-27T12:00:00.000Z", i.Size})
	}
	answer.KeyCount = len(page)
	w.Header().Set("Content-Type", "application/xml")
	xml.NewEncoder(w).Encode(answer)
}
