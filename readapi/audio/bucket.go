package audio

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// bucket signs links to objects of an S3 bucket with Signature Version 4.
type bucket struct {
	bucketLocation
	client *minio.Client
}

func newBucket(at bucketLocation) (*bucket, error) {
	client, err := minio.New(at.host, &minio.Options{
		Creds:        bucketCredentials(),
		Secure:       at.secure,
		Region:       at.region, // without it the client would ask the server
		BucketLookup: at.style,
	})
	if err != nil {
		return nil, fmt.Errorf("bucket: %w", err)
	}
	return &bucket{at, client}, nil
}

// bucketCredentials takes credentials from the environment, a credentials file or the machine's role. A link expires with the
// credentials that signed it, so those of a role are renewed early enough for a link's whole lifetime.
func bucketCredentials() *credentials.Credentials {
	return credentials.NewChainCredentials([]credentials.Provider{
		&credentials.EnvAWS{},
		&credentials.FileAWSCredentials{},
		&credentials.IAM{ExpiryWindow: lifetime + time.Minute},
	})
}

// Sign implements [Store]. The expiry is computed from the signed URL, so that the two cannot differ.
func (b *bucket) Sign(ctx context.Context, o Object) (Link, error) {
	signed, err := b.client.PresignedGetObject(ctx, b.name, b.prefix+o.Key, lifetime, url.Values{
		"response-content-type":        {o.mediaType()},
		"response-content-disposition": {contentDisposition},
		"response-cache-control":       {cacheControl},
	})
	if err != nil {
		return Link{}, fmt.Errorf("sign a link to audio: %w", err)
	}
	issued, err := time.Parse("20060102T150405Z", signed.Query().Get("X-Amz-Date"))
	if err != nil {
		return Link{}, fmt.Errorf("sign a link to audio: %w", err)
	}
	return Link{URL: signed.String(), Expires: issued.Add(lifetime)}, nil
}
