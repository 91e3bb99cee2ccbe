package blob

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/logging"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"gocloud.dev/blob/s3blob"
)

const (
	// defaultRegion signs requests when nobody names a region, as stores that
	// have none expect it.
	defaultRegion = "us-east-1"

	s3Attempts    = 3
	s3MaxBackoff  = time.Second
	s3DialTimeout = 3 * time.Second
	// s3KeysTimeout is how long keys are looked for; a machine that is not of AWS
	// has no role to ask for them.
	s3KeysTimeout = 5 * time.Second
	// s3SilenceTimeout is how long a store may say nothing in the middle of an
	// answer.
	s3SilenceTimeout = 15 * time.Second
)

// s3Place is a bucket of S3.
type s3Place struct {
	bucket, region, profile, endpoint string
	byPath                            bool // bucket in the path, not in the host name
}

func openS3(ctx context.Context, at s3Place) (Bucket, error) {
	load := []func(*awsconfig.LoadOptions) error{
		awsconfig.WithHTTPClient(awshttp.NewBuildableClient().WithReadTimeout(s3SilenceTimeout).
			WithDialerOptions(func(d *net.Dialer) { d.Timeout = s3DialTimeout })),
		awsconfig.WithLogger(logging.Nop{}),
		awsconfig.WithRetryer(func() aws.Retryer {
			return retry.NewStandard(func(o *retry.StandardOptions) {
				o.MaxAttempts, o.MaxBackoff = s3Attempts, s3MaxBackoff
			})
		}),
	}
	if at.region != "" {
		load = append(load, awsconfig.WithRegion(at.region))
	}
	if at.profile != "" {
		load = append(load, awsconfig.WithSharedConfigProfile(at.profile))
	}
	cfg, err := awsconfig.LoadDefaultConfig(ctx, load...)
	if err != nil {
		return nil, fmt.Errorf("blob store s3://%s: settings of AWS: %w", at.bucket, err)
	}
	cfg.Region = cmp.Or(cfg.Region, defaultRegion)
	cfg.Credentials = keys{cfg.Credentials}
	if at.endpoint != "" {
		cfg.BaseEndpoint = &at.endpoint
		// Stores other than AWS do not know its newer checksums
		// (aws-sdk-go-v2 discussion 2960).
		cfg.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		cfg.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	}
	var end func()
	if c, ok := cfg.HTTPClient.(*awshttp.BuildableClient); ok {
		cfg.HTTPClient = c.Freeze()
		if idle, ok := cfg.HTTPClient.(interface{ CloseIdleConnections() }); ok {
			end = idle.CloseIdleConnections
		}
	}
	client := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = at.byPath })
	bucket, err := s3blob.OpenBucket(ctx, client, at.bucket, &s3blob.Options{RequestChecksumCalculation: cfg.RequestChecksumCalculation})
	if err != nil {
		return nil, fmt.Errorf("blob store s3://%s: %w", at.bucket, err)
	}
	return &portable{bucket, end}, nil
}

var errNoKeys = errors.New("no keys of S3")

// keys bounds the search for keys, and marks its failure.
type keys struct{ from aws.CredentialsProvider }

func (k keys) Retrieve(ctx context.Context) (aws.Credentials, error) {
	limited, cancel := context.WithTimeout(ctx, s3KeysTimeout)
	defer cancel()
	found, err := k.from.Retrieve(limited)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w: %w", errNoKeys, err)
	}
	return found, err
}

// isAwayS3 tells an S3 that cannot be reached, breaks off or has too much to do
// from one that refuses, and from a caller who does not wait any longer.
func isAwayS3(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	if answer, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		// Without an answer the status is 0.
		if status := answer.HTTPStatusCode(); status != 0 {
			return status >= http.StatusInternalServerError || status == http.StatusTooManyRequests
		}
	}
	if _, ok := errors.AsType[*smithyhttp.RequestSendError](err); ok {
		return true
	}
	_, broken := errors.AsType[net.Error](err)
	return broken || errors.Is(err, io.ErrUnexpectedEOF)
}

// isBeyondEnd tells the refusal of a range that begins behind the end.
func isBeyondEnd(err error) bool {
	refused, ok := errors.AsType[smithy.APIError](err)
	return ok && refused.ErrorCode() == "InvalidRange"
}

// s3Hint says what to do about an error of S3; empty when there is nothing to
// say, or when the error is not one of S3.
func s3Hint(err error) string {
	if refused, ok := errors.AsType[smithy.APIError](err); ok {
		switch refused.ErrorCode() {
		case "NoSuchBucket":
			return "the bucket is not there: create it, or correct blobs.url"
		case "InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "ExpiredToken",
			"XAdminUserNotFound": // versitygw
			return "the keys are refused: check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN"
		case "AccessDenied", "Forbidden":
			return "the keys do not give this right: reading, writing and deleting objects is needed"
		case "RequestTimeTooSkewed":
			return "the clock of this machine is wrong"
		case "AuthorizationHeaderMalformed", "PermanentRedirect":
			return "the bucket is in another region: set region in blobs.url"
		}
		return ""
	}
	if errors.Is(err, errNoKeys) {
		return "no keys were found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
	}
	return ""
}
