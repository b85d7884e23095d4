import type { Config } from '../config.ts';
import { errorTable } from '../errors.ts';
import type { Route } from '../http/routes.ts';
import { successExamples } from './examples.ts';
import { type Header, headers, requestIdPattern } from './headers.ts';
import { introduction } from './introduction.ts';
import { matchSchemas } from './match-schema.ts';
import { modelsSchemas } from './models-schema.ts';
import { type Operation, operationOf, problemResponse, type Response, tags } from './operations.ts';
import { errorCodes, problemExample, problemName, problemSchema } from './problems.ts';
import type { Schema } from './schema.ts';

/** The OpenAPI 3.1 document, built from the tables that the server itself obeys. */

export interface OpenApiDocument {
  openapi: '3.1.0';
  info: {
    title: string;
    version: string;
    summary: string;
    description: string;
    license: { name: string; identifier: string };
  };
  servers: { url: string; description: string }[];
  tags: { name: string; description: string }[];
  paths: Record<string, Partial<Record<'get' | 'post', Operation>>>;
  components: {
    securitySchemes: { api_key: { type: 'apiKey'; in: 'header'; name: string; description: string } };
    parameters: Record<string, Parameter>;
    headers: Record<string, Header>;
    responses: Record<string, Response>;
    schemas: Record<string, Schema>;
    examples: Record<string, { summary: string; value: object }>;
  };
}

export interface Parameter {
  name: string;
  in: 'header';
  required: boolean;
  description: string;
  schema: Schema;
}

/** Of the interface, not of the program: it changes when /API/v1.0 does. */
const version = '1.0';

/** Tells of the endpoints that are switched on, with the limits that are set. */
export function openApiDocument(routes: readonly Route[], config: Config): OpenApiDocument {
  const open = routes.filter(({ endpoint }) => config.endpoints.includes(endpoint));
  const operations = open.map((route) => ({ route, operation: operationOf(route) }));
  const used = new Set(operations.flatMap(({ operation }) => operation.tags));
  return {
    openapi: '3.1.0',
    info: {
      title: 'facematch',
      version,
      summary: 'Do these two photos show the same person?',
      description: introduction(config),
      license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'The server that this document came from' }],
    tags: Object.entries(tags)
      .filter(([name]) => (used as Set<string>).has(name))
      .map(([name, description]) => ({ name, description })),
    paths: pathItems(operations),
    components: {
      securitySchemes: {
        api_key: {
          type: 'apiKey',
          in: 'header',
          name: 'x-api-key',
          description: 'A key that the operator has made for you',
        },
      },
      parameters: { 'X-Request-Id': requestIdParameter },
      headers,
      responses: {
        not_found: problemResponse(errorTable.not_found.status, ['not_found']),
        method_not_allowed: problemResponse(errorTable.method_not_allowed.status, ['method_not_allowed']),
      },
      schemas: { ...matchSchemas, ...modelsSchemas, ...problemSchemas() },
      examples: { ...answers(), ...problemExamples() },
    },
  };
}

function pathItems(operations: readonly { route: Route; operation: Operation }[]): OpenApiDocument['paths'] {
  const paths: OpenApiDocument['paths'] = {};
  for (const { route, operation } of operations) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operation };
  }
  return paths;
}

const requestIdParameter: Parameter = {
  name: 'X-Request-Id',
  in: 'header',
  required: false,
  description: 'Your own id for the request; one of another form is replaced',
  schema: { type: 'string', pattern: requestIdPattern },
};

function problemSchemas(): Record<string, Schema> {
  return Object.fromEntries(errorCodes.map((code) => [problemName(code), problemSchema(code)]));
}

function answers(): OpenApiDocument['components']['examples'] {
  return Object.fromEntries(
    Object.entries(successExamples).map(([name, value]) => [name, { summary: 'An answer', value }]),
  );
}

function problemExamples(): OpenApiDocument['components']['examples'] {
  return Object.fromEntries(
    errorCodes.map((code) => [code, { summary: errorTable[code].title, value: problemExample(code) }]),
  );
}
