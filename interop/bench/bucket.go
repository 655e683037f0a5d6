package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// gateway is the S3 server behind the bucket of (m), as make cluster has it.
const gateway = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"

// The keys of that server, and its region.
const access, secret, region = "bench", "bench-secret", "us-east-1"

// bucketServer starts a real S3 server with one bucket, and returns its host and port. The first time it is built.
func (w *world) bucketServer(ctx context.Context) (string, error) {
	root, err := filepath.Abs(w.root)
	if err != nil {
		return "", err
	}
	tools := filepath.Join(root, "interop", ".build")
	binary := filepath.Join(tools, "versitygw")
	if _, err := os.Stat(binary); err != nil {
		w.say("building versitygw")
		build := exec.CommandContext(ctx, "go", "install", gateway)
		build.Env = append(os.Environ(), "GOBIN="+tools)
		if out, err := build.CombinedOutput(); err != nil {
			return "", fmt.Errorf("build versitygw: %w\n%s", err, out)
		}
	}
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": access, "AWS_SECRET_ACCESS_KEY": secret} {
		if err := os.Setenv(name, value); err != nil {
			return "", err
		}
	}
	address, err := freeAddress()
	if err != nil {
		return "", err
	}
	data, attributes := w.path("gateway-data"), w.path("gateway-attributes")
	if err := errors.Join(os.MkdirAll(data, 0o700), os.MkdirAll(attributes, 0o700)); err != nil {
		return "", err
	}
	c := exec.Command(binary, "--port", address, "--access", access, "--secret", secret, "--region", region, "--quiet", "posix", "--sidecar", attributes, data)
	c.Stderr = w.w
	if err := c.Start(); err != nil {
		return "", err
	}
	w.closers = append(w.closers, func() error {
		_ = c.Process.Kill()
		_ = c.Wait() // it was killed
		return nil
	})
	client, err := minio.New(address, &minio.Options{Creds: credentials.NewStaticV4(access, secret, ""), Region: region})
	if err != nil {
		return "", err
	}
	for range 100 {
		if err = client.MakeBucket(ctx, "name", minio.MakeBucketOptions{Region: region}); err == nil {
			return address, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return "", fmt.Errorf("versitygw: %w", err)
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", anyPort)
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// way is how one node reaches the bucket: each request takes so much longer, and is counted.
type way struct {
	delay      atomic.Int64 // in nanoseconds
	all, packs atomic.Int64 // requests; of those, for packs
	url        string
	server     *httptest.Server
	to         *httputil.ReverseProxy
}

func newWay(address string) *way {
	v := &way{to: &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: address})
			r.Out.Host = r.In.Host // which is signed
		},
		Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 100},
	}}
	v.server = httptest.NewServer(v)
	v.url = "s3://name/relay?endpoint=" + v.server.URL
	return v
}

// ServeHTTP implements http.Handler.
func (v *way) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v.count(r.URL.Path)
	time.Sleep(time.Duration(v.delay.Load()))
	v.to.ServeHTTP(w, r)
}

func (v *way) count(path string) {
	v.all.Add(1)
	if strings.Contains(path, "/packs/") {
		v.packs.Add(1)
	}
}
