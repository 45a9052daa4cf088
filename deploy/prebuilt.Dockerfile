# The images of deploy/Dockerfile over programs that 'make images' has built, for machines without a Go image:
#
#   docker build -f deploy/prebuilt.Dockerfile --target readapi -t callboard/readapi bin/image

# What all programs have in common. 65532 is no user of any host by default.
FROM scratch AS program
ARG SOURCE=https://callboard.dev
ARG REVISION=unknown
ARG VERSION=dev
LABEL org.opencontainers.image.source=$SOURCE \
      org.opencontainers.image.revision=$REVISION \
      org.opencontainers.image.version=$VERSION
USER 65532:65532

FROM program AS projector
COPY projector /projector
EXPOSE 9091
HEALTHCHECK --interval=10s --timeout=6s --start-period=30s CMD ["/projector", "healthcheck"]
ENTRYPOINT ["/projector"]

FROM program AS readapi
COPY readapi /readapi
EXPOSE 8080 9090
HEALTHCHECK --interval=10s --timeout=6s --start-period=30s CMD ["/readapi", "healthcheck"]
ENTRYPOINT ["/readapi"]

FROM program AS webhooks
COPY webhooks /webhooks
EXPOSE 9092
HEALTHCHECK --interval=10s --timeout=6s --start-period=30s CMD ["/webhooks", "healthcheck"]
ENTRYPOINT ["/webhooks"]

FROM program AS callboard
COPY --chown=65532:65532 volumes /
COPY callboard /callboard
ENTRYPOINT ["/callboard"]
