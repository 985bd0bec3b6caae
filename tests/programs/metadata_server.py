"""A machine's metadata service, as a cloud answers it: metadata_server.py KIND PORT_FILE LOG_FILE

KIND is aws, aws-spot, gcp, gcp-spot, azure, azure-spot, oracle; or what no cloud does: none (404 to all), garbage (a
page to all), hang (no answer), drip (an answer that never ends). PORT_FILE gets the port once it listens, LOG_FILE a
line for each question.
"""
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOKEN = "a-token=="
AZURE = "/metadata/instance/compute/%s?api-version=2021-02-01&format=text"
GCP = "/computeMetadata/v1/instance/"


def aws(market):
    answers = {"instance-type": "p5.48xlarge", "placement/region": "us-east-1", "instance-life-cycle": market}
    return {"/latest/meta-data/" + path: text for path, text in answers.items()}


def gcp(preemptible):
    return {GCP + "machine-type": "projects/4711/machineTypes/a3-highgpu-1g",
            GCP + "zone": "projects/4711/zones/us-central1-a",
            GCP + "scheduling/preemptible": preemptible}


def azure(priority):
    answers = {"vmSize": "Standard_NC12s_v3", "location": "eastus", "priority": priority}
    return {AZURE % path: text for path, text in answers.items()}


# The header that a question must have, and what is answered.
KINDS = {
    "aws": (("X-aws-ec2-metadata-token", TOKEN), aws("on-demand")),
    "aws-spot": (("X-aws-ec2-metadata-token", TOKEN), aws("spot")),
    "gcp": (("Metadata-Flavor", "Google"), gcp("FALSE")),
    "gcp-spot": (("Metadata-Flavor", "Google"), gcp("TRUE")),
    "azure": (("Metadata", "true"), azure("Regular")),
    "azure-spot": (("Metadata", "true"), azure("Spot")),
    "oracle": (("Authorization", "Bearer Oracle"), {"/opc/v2/instance/shape": "BM.GPU.H100.8\n",
                                                    "/opc/v2/instance/canonicalRegionName": "us-ashburn-1"}),
}
KIND, PORT_FILE, LOG_FILE = sys.argv[1:4]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, text):
        body = text.encode()
        self.send_response(status)
        if KIND.startswith("gcp"):
            self.send_header("Metadata-Flavor", "Google")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def serve(self):
        with open(LOG_FILE, "a") as log:
            log.write(f"{self.command} {self.path}\n")
        if KIND == "hang":
            return time.sleep(3600)
        if KIND == "drip":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
            while True:
                self.wfile.write(b"x")
                self.wfile.flush()
                time.sleep(0.05)
        if KIND == "garbage":
            return self.answer(200, "<html><body>Welcome!</body></html>")
        (name, value), answers = KINDS.get(KIND, (("", ""), {}))
        if self.command == "PUT":
            life = self.headers.get("X-aws-ec2-metadata-token-ttl-seconds")
            known = KIND.startswith("aws") and self.path == "/latest/api/token" and life
            return self.answer(200, TOKEN) if known else self.answer(404, "")
        if self.path in answers and self.headers.get(name) == value:
            return self.answer(200, answers[self.path])
        return self.answer(401 if self.path in answers else 404, "")

    do_GET = do_PUT = serve

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
open(LOG_FILE, "w").close()
with open(PORT_FILE, "w") as port:
    port.write(str(server.server_address[1]))
server.serve_forever()
