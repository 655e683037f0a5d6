// Package s3 is an object store that speaks the protocol of Amazon S3 with conditional writes (If-None-Match: *). Read Bucket first.
package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/graspd/graspd/internal/base/objects"
)

// Bucket is a part of one bucket. It implements objects.Store, for any number of goroutines.
type Bucket struct {
	at     Location
	client minio.Core
}

// ErrKeys says that there are no keys for a bucket.
var ErrKeys = errors.New("there are no keys for the bucket: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write ~/.aws/credentials (AWS_SHARED_CREDENTIALS_FILE), or give the machine a role")

// How long connecting to a store may take, and asking the machine for its role. A request has the time that its context gives.
const (
	dialTime = 5 * time.Second
	roleTime = 2 * time.Second
	idle     = 32 // connections that are kept
)

// Open returns a bucket with the keys that the environment, files or the machine's role give. It asks the store nothing. through is how requests
// are sent; nil is over the network.
func Open(at Location, through http.RoundTripper) (*Bucket, error) {
	if through == nil {
		through = network()
	}
	keys := credentials.NewChainCredentials([]credentials.Provider{
		&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{Client: &http.Client{Transport: through, Timeout: roleTime}},
	})
	client, err := minio.NewCore(at.Endpoint, &minio.Options{Creds: keys, Secure: !at.Plain, Region: at.Region, Transport: through, MaxRetries: 1})
	if err != nil {
		return nil, fmt.Errorf("open the bucket %s: %w", at.Bucket, err)
	}
	if v, err := client.GetCreds(); err != nil || v.AccessKeyID == "" || v.SecretAccessKey == "" {
		return nil, ErrKeys
	}
	return &Bucket{at, *client}, nil
}

func network() *http.Transport {
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: dialTime}).DialContext, TLSHandshakeTimeout: dialTime,
		MaxIdleConnsPerHost: idle, IdleConnTimeout: time.Minute, DisableCompression: true, // what is read is what was written
	}
}

// key is the name that the bucket has for an object.
func (b *Bucket) key(name string) string {
	if b.at.Prefix == "" {
		return name
	}
	return b.at.Prefix + "/" + name
}

// meaning says what is the matter where a store refuses, by its code.
var meaning = map[string]string{
	"AccessDenied":                 "the keys have to allow reading, writing, listing and deleting in the bucket",
	"AuthorizationHeaderMalformed": "the bucket is in another region",
	"InvalidAccessKeyId":           "the store does not know the access key",
	"NoSuchBucket":                 "there is no such bucket",
	"NotImplemented":               "the store does not know conditional writes, If-None-Match: *",
	"PermanentRedirect":            "the bucket is in another region",
	"RequestTimeTooSkewed":         "the clock of this machine, or of the store, is off",
	"SignatureDoesNotMatch":        "the secret key is not that of the access key",
}

// failed is what an error of the client says.
func (b *Bucket) failed(err error, what, name string) error {
	r := minio.ToErrorResponse(err)
	if r.Code == "NoSuchKey" {
		return objects.ErrNone
	}
	if r.StatusCode != 0 {
		err = fmt.Errorf("%w (%s, HTTP %d)", err, r.Code, r.StatusCode)
	}
	if m := meaning[r.Code]; m != "" {
		err = fmt.Errorf("%s: %w", m, err)
	}
	return fmt.Errorf("%s %s in the bucket %s: %w", what, name, b.at.Bucket, err)
}

// Put implements objects.Store.
func (b *Bucket) Put(ctx context.Context, name string, body objects.Body) (objects.Outcome, error) {
	if err := objects.CheckPut(name, body); err != nil {
		return objects.Unknown, err
	}
	o := minio.PutObjectOptions{ContentType: "application/octet-stream", SendContentMd5: true, DisableContentSha256: true, DisableMultipart: true}
	o.SetMatchETagExcept("*")
	_, err := b.client.Client.PutObject(ctx, b.at.Bucket, b.key(name), io.NewSectionReader(body, 0, body.Size()), body.Size(), o)
	switch {
	case err == nil:
		return objects.Done, nil
	case minio.ToErrorResponse(err).StatusCode == http.StatusPreconditionFailed:
		return objects.Exists, nil
	}
	return objects.Unknown, b.failed(err, "write", name)
}

// Get implements objects.Store.
func (b *Bucket) Get(ctx context.Context, name string, from int64, n int) ([]byte, error) {
	if err := objects.CheckPart(name, from, n); err != nil {
		return nil, err
	}
	var o minio.GetObjectOptions
	if err := o.SetRange(from, from+int64(n)-1); err != nil {
		return nil, err
	}
	r, info, head, err := b.client.GetObject(ctx, b.at.Bucket, b.key(name), o)
	switch {
	case minio.ToErrorResponse(err).Code == "InvalidRange": // it ends before
		return nil, nil
	case err != nil:
		return nil, b.failed(err, "read", name)
	}
	defer r.Close()
	if head.Get("Content-Range") == "" && from > 0 {
		return nil, fmt.Errorf("read %s in the bucket %s: the store gives no parts of objects", name, b.at.Bucket)
	}
	part, err := io.ReadAll(io.LimitReader(r, int64(n)))
	if err == nil && int64(len(part)) < min(info.Size, int64(n)) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, b.failed(err, "read", name)
	}
	return part, nil
}

// Head implements objects.Store.
func (b *Bucket) Head(ctx context.Context, name string) (objects.Info, error) {
	if err := objects.CheckName(name); err != nil {
		return objects.Info{}, err
	}
	info, err := b.client.StatObject(ctx, b.at.Bucket, b.key(name), minio.StatObjectOptions{})
	if err != nil {
		return objects.Info{}, b.failed(err, "look for", name)
	}
	return objects.Info{Name: name, Size: info.Size}, nil
}

// List implements objects.Store.
func (b *Bucket) List(ctx context.Context, prefix, after string, most int) (page []objects.Info, err error) {
	most = max(1, min(most, objects.MaxList))
	o := minio.ListObjectsOptions{Prefix: b.key(prefix), Recursive: true, MaxKeys: most}
	if after != "" {
		o.StartAfter = b.key(after)
	}
	ctx, over := context.WithCancel(ctx)
	defer over()
	for i := range b.client.ListObjectsIter(ctx, b.at.Bucket, o) {
		if i.Err != nil {
			return nil, b.failed(i.Err, "list", prefix)
		}
		page = append(page, objects.Info{Name: i.Key[len(b.key("")):], Size: i.Size})
		if len(page) == most {
			break
		}
	}
	return page, context.Cause(ctx)
}

// Delete implements objects.Store.
func (b *Bucket) Delete(ctx context.Context, name string) error {
	if err := objects.CheckName(name); err != nil {
		return err
	}
	if err := b.client.RemoveObject(ctx, b.at.Bucket, b.key(name), minio.RemoveObjectOptions{}); err != nil {
		return b.failed(err, "remove", name)
	}
	return nil
}
