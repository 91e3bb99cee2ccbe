package taskmanager

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	fetcherv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/fetcher/v1"
	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/taskmanager/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/blob"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/schema"
)

// maxResultBytes of results stand in one answer, well below what a message may
// have.
const maxResultBytes = 3 << 20

// ListCrawlResults pages through what became of each address.
func (s *Service) ListCrawlResults(ctx context.Context, req *pb.ListCrawlResultsRequest) (*pb.ListCrawlResultsResponse, error) {
	p, err := auth.RequireUser(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := s.tasks.Get(ctx, p.UserID, req.GetTaskId()); err != nil {
		return nil, shaped(err, req.GetTaskId())
	}
	after := 0
	if c := req.GetCursor(); c != "" {
		if after, err = strconv.Atoi(c); err != nil || after < 0 {
			return nil, rpcerr.InvalidArgument("cursor", "it must be the next_cursor of an answer")
		}
	}
	limit := defaultLimit
	if req.Limit != nil {
		limit = int(req.GetLimit())
	}
	rows, err := s.tasks.Results(ctx, req.GetTaskId(), after, limit+1)
	if err != nil {
		return nil, shaped(err, req.GetTaskId())
	}
	out, size := &pb.ListCrawlResultsResponse{}, 0
	for _, r := range rows {
		if len(out.Items) == limit {
			break
		}
		item, err := s.result(ctx, r)
		if err != nil {
			return nil, err
		}
		if size += proto.Size(item); size > maxResultBytes && len(out.Items) > 0 {
			break
		}
		out.Items = append(out.Items, item)
	}
	if out.HasMore = len(out.Items) < len(rows); out.HasMore {
		out.NextCursor = strconv.Itoa(int(out.Items[len(out.Items)-1].Seq))
	}
	return out, nil
}

func (s *Service) result(ctx context.Context, r schema.Result) (*pb.CrawlResult, error) {
	out := &pb.CrawlResult{
		Seq: int32(r.Seq), Url: r.URL, Ok: r.OK, StatusCode: int32(r.StatusCode), Attempts: int32(r.Attempts),
		DurationMs: int32(r.DurationMS), FetchedAt: stamp(r.FetchedAt),
	}
	if !r.OK {
		out.Error = &pb.CrawlError{Url: r.URL, Error: r.Error, Reason: r.Reason}
		return out, nil
	}
	data, err := s.data(ctx, r, 0)
	out.Data = data
	return out, err
}

// content reads what is too large for a row.
func (s *Service) content(ctx context.Context, r schema.Result) (*fetcherv1.PageContent, error) {
	unavailable := rpcerr.New(codes.Unavailable, ReasonContentUnavailable,
		"The content of result %d cannot be read: the blob store does not answer. Try again.", r.Seq)
	data, err := s.blobs.Get(ctx, r.ContentKey)
	if errors.Is(err, blob.ErrNotFound) {
		return nil, rpcerr.New(codes.Unavailable, ReasonContentUnavailable,
			"The content of result %d is not in the blob store any more. Fetch the page again, or check that the fetcher and the task manager use the same blob store.", r.Seq)
	}
	if err != nil {
		return nil, unavailable.WithRetry(databaseRetry).WithCause(err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != r.ContentSHA256 {
		return nil, unavailable.WithCause(errors.New("the blob is not what was stored"))
	}
	c := &fetcherv1.PageContent{}
	if err := proto.Unmarshal(data, c); err != nil {
		return nil, unavailable.WithCause(err)
	}
	return c, nil
}
